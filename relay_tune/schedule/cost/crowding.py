"""How much slower data come from beyond the second cache because a tile reads in many places."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

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
