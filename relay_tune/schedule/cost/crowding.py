"""How much slower data come from beyond the second cache because a tile reads in many places."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.machine.machine import Machine
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.load_count import distinct_places
from relay_tune.tensor.expression import Axis

FOLLOWED_STREAMS = 32

CROWDED_STREAMS = 2.0
"""From beyond the second cache, more streams than the processor follows come so much slower.

Measured with the transform of Winograd's products, 36 streams: 1.9 to 2.3 times.
"""

FOLLOWED_PLACES, CROWDED_PLACE = 32.0, 1 / 200
"""Places of a tile under a window that come as fast as one, and how much slower each one beyond
makes what comes from beyond the second cache.

Measured with a depthwise convolution of 32 channels, 112x112, from the third cache: tiles of 2x4
points (32 places) 126 to 140 us, 4x4 (52) 142, 14x1 (62) 149, 7x4 (82) 154, 28x1 (118) 165.
"""


def crowding(analysis: NestAnalysis, tile: Mapping[Axis, int], machine: Machine) -> float:
    """How much slower data come from afar because a tile reads and writes in many places.

    Under a sliding window each point of a tile, and of its surroundings, is a place of its own,
    from which the innermost loop walks along the vector axis.
    """
    accesses = (*analysis.body_accesses, *analysis.result_accesses)
    far = [
        a for a in accesses if a.elements * a.bytes > machine.memories[1].bytes and not a.is_near
    ]
    if not far or not analysis.beside_windows:
        streams = sum(access.streams for access in far)
        return CROWDED_STREAMS if streams > FOLLOWED_STREAMS else 1.0
    window = {axis: axis.extent for axis in analysis.nest.reduction}
    places = float(_points(analysis, tile))
    for access in far:
        if access.form is not None:
            apart = {axis: n for axis, n in tile.items() if access.form.coefficient(axis) != 1}
            places += distinct_places(access.form, apart, window, None, 1)
    return 1.0 + CROWDED_PLACE * max(places - FOLLOWED_PLACES, 0.0)


def _points(analysis: NestAnalysis, tile: Mapping[Axis, int]) -> int:
    """The points of a tile, those beside each other in memory counting once."""
    form = analysis.store_form
    return prod(n for axis, n in tile.items() if form is None or form.coefficient(axis) != 1)
