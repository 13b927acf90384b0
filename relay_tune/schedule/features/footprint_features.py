"""What features say of the bytes that a choice touches while caches have to hold them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import Access, NestAnalysis
from relay_tune.schedule.features.scales import accesses_of, log_share, log_size, operations_of
from relay_tune.schedule.space.space import NestSpace
from relay_tune.tensor.expression import Axis


@dataclass(frozen=True, slots=True)
class _Footprints:
    """Bytes that all loads touch in one tile, one innermost loop, two innermost loops."""

    tile: float
    row: float
    plane: float


def _footprints(analysis: NestAnalysis, choice: TileChoice) -> _Footprints:
    nest = analysis.nest
    extents = {axis: axis.extent for axis in nest.reduction}
    extents |= {axis: min(t, axis.extent) for axis, t in zip(nest.axes, choice.tile, strict=True)}
    sizes = [_touched(analysis, extents)]
    for place in reversed(choice.order[-2:]):
        extents[nest.axes[place]] = nest.axes[place].extent
        sizes.append(_touched(analysis, extents))
    sizes += [sizes[-1]] * (3 - len(sizes))
    return _Footprints(*sizes)


def _touched(analysis: NestAnalysis, extents: dict[Axis, int]) -> float:
    return float(sum(_bytes(access, extents) for access in accesses_of(analysis)))


def _bytes(access: Access, extents: dict[Axis, int]) -> int:
    if access.form is None:
        return access.bytes * min(prod(extents.values()), access.elements)
    points, span = 1, 1
    for axis, extent in extents.items():
        factor = abs(access.form.coefficient(axis))
        if factor:
            points *= extent
            span += factor * (extent - 1)
    return access.bytes * min(points, span, access.elements)


def footprint_values(space: NestSpace, choice: TileChoice) -> list[float]:
    """The last features of CHOICE_NAMES: bytes of tile, row and plane by the caches, and reuse."""
    found = _footprints(space.analysis, choice)
    sizes = (found.tile, found.row, found.plane)
    reuse = operations_of(space.analysis) / max(found.tile, 1.0)
    first, second, *_ = (memory.bytes for memory in space.machine.memories)
    return [
        log_share(found.tile, first),
        log_share(found.row, first),
        log_share(found.row, second),
        log_share(found.plane, second),
        *(sum(size > cache.bytes for cache in space.machine.caches) for size in sizes),
        log_size(reuse),
    ]
