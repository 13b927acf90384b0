"""How much slower data come from afar where tiles read them in many places, or in bad order.

Under a sliding window the innermost loop around the tiles walks along the channels, and each point
of the tile and of its surroundings is a row of lines of its own:

    tiles of 4 x 7 points, stride 2, 560 channels: 9 * 15 rows of 35 lines, 302 KB in one run
    the same in blocks of 3 vectors of channels:   9 * 15 rows of 3 lines, 26 KB in one run

The first needs every line once, as the second does, and still waits longer for them: lines that the
processor fetches ahead push out others. Where a loop over the rows of the window is left, each load
of its body strides from row to row instead of along the channels, and what is fetched ahead of it
is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2, prod

from relay_tune.machine.machine import Machine
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.load_count import distinct_places
from relay_tune.tensor.expression import Axis


def crowding(analysis: NestAnalysis, tile: Mapping[Axis, int], machine: Machine) -> float:
    """How much slower data come from afar because a tile reads and writes in many places.

    Under a sliding window each point of a tile, and of its surroundings, is a place of its own,
    from which the innermost loop walks along the vector axis.
    """
    known = machine.coefficients
    accesses = (*analysis.body_accesses, *analysis.result_accesses)
    far = [
        a for a in accesses if a.elements * a.bytes > machine.memories[1].bytes and not a.is_near
    ]
    if not far or not analysis.beside_windows:
        streams = sum(access.streams for access in far)
        return known.crowded_streams if streams > known.followed_streams else 1.0
    window = {axis: axis.extent for axis in analysis.nest.reduction}
    places = float(_points(analysis, tile))
    for access in far:
        if access.form is not None:
            apart = {axis: n for axis, n in tile.items() if access.form.coefficient(axis) != 1}
            places += distinct_places(access.form, apart, window, None, 1)
    return 1.0 + known.crowded_row * max(places - known.followed_rows, 0.0)


def _points(analysis: NestAnalysis, tile: Mapping[Axis, int]) -> int:
    """The points of a tile, those beside each other in memory counting once."""
    form = analysis.store_form
    return prod(n for axis, n in tile.items() if form is None or form.coefficient(axis) != 1)


def outgrown_factor(run_bytes: float, all_bytes: float, rolled: bool, machine: Machine) -> float:
    """How much slower data come from the second cache, 1 or more.

    `run_bytes` are what one run of tiles touches, `all_bytes` what the nest reads and writes:
    where that is up to twice as much as the second cache, a part of it is there, and slower
    transfers of the rest hide this.
    """
    known = machine.coefficients
    near, second = (memory.bytes for memory in machine.memories[:2])
    kept = min(max(known.kept_in_second - known.kept_in_second_fall * all_bytes / second, 0.0), 1.0)
    doublings = log2(max(run_bytes / (known.outgrown_share * near), 1.0))
    slower = known.outgrown_run * min(doublings, known.outgrown_doublings)
    slower += known.rolled_window * rolled
    return 1.0 + kept * slower
