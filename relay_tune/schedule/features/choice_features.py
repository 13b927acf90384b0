"""What features say of a choice: vectors, order, parallel loops, and what it touches."""

from __future__ import annotations

from math import log2, prod

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.features.nest_features import reusing_loads
from relay_tune.schedule.features.scales import log_share, log_size, operations_of
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.space.space import NestSpace
from relay_tune.tensor.expression import Axis

FLOAT_BYTES = 4


def choice_values(space: NestSpace, choice: TileChoice) -> list[float]:
    """The features of CHOICE_NAMES."""
    return [
        *_vector_values(space, choice),
        *_order_values(space.analysis, choice),
        *_parallel_values(space, choice),
        *_footprint_values(space, choice),
    ]


def _vector_axis(analysis: NestAnalysis, choice: TileChoice) -> Axis | None:
    """The axis along the lanes, which may be the innermost of the reduction."""
    nest = analysis.nest
    if choice.vector == -2:
        return nest.reduction[choice.reduction_order[-1]]
    return nest.axes[choice.vector] if choice.vector >= 0 else None


def _vector_values(space: NestSpace, choice: TileChoice) -> list[float]:
    analysis = space.analysis
    axis = _vector_axis(analysis, choice)
    along = [
        None if access.form is None else access.form.coefficient(axis)
        for access in analysis.accesses
        if axis is not None
    ]
    store = analysis.store_form
    is_stored = axis is not None and store is not None and store.coefficient(axis) == 1
    tile = choice.tile[choice.vector] if choice.vector >= 0 else choice.lanes
    vectors = -(-tile // choice.lanes)
    return [
        choice.vector == -2,
        choice.vector == -1,
        len(analysis.nest.axes) - choice.vector if choice.vector >= 0 else 0,
        log_share(choice.lanes * FLOAT_BYTES, space.machine.vectors.bytes),
        vectors,
        tile / (vectors * choice.lanes),
        is_stored,
        along.count(1),
        along.count(0),
        len(along) - along.count(1) - along.count(0),
        log_size(prod(choice.tile)),
        log_size(choice.unroll),
    ]


def _order_values(analysis: NestAnalysis, choice: TileChoice) -> list[float]:
    nest = analysis.nest
    stored = choice.order == tuple(range(len(nest.axes)))
    reuses, tiles = 0, 1
    if choice.order:
        position = choice.order[-1]
        reuses = reusing_loads(analysis, nest.axes[position])
        tiles = -(-nest.axes[position].extent // choice.tile[position])
    extent, contiguous = 1, 0
    if nest.reduction:
        axis = nest.reduction[choice.reduction_order[-1]]
        extent = axis.extent
        contiguous = sum(
            access.form is not None and access.form.coefficient(axis) == 1
            for access in analysis.body_accesses
        )
    return [
        stored,
        reuses,
        log_size(tiles),
        log_size(extent),
        contiguous,
        choice.reduction_order == tuple(range(len(nest.reduction))),
    ]


def _parallel_values(space: NestSpace, choice: TileChoice) -> list[float]:
    nest = space.analysis.nest
    chunks = prod(loop.count for loop in outer_loops(nest.axes, choice)[: choice.parallel])
    rounds = -(-chunks // space.threads)
    return [
        log_size(chunks),
        log_size(chunks / space.threads),
        rounds * space.threads / chunks,
        log_size(space.threads),
        log2(prod(choice.blocks)),
    ]


def _footprint_values(space: NestSpace, choice: TileChoice) -> list[float]:
    """Bytes of a tile, of the innermost loop and of the two innermost by the caches, and reuse."""
    analysis, nest = space.analysis, space.analysis.nest
    tile = tile_of(analysis, choice, space.machine)
    extents = {**tile.steps, **tile.extents}
    sizes = [_touched(analysis, extents)]
    for position in reversed(choice.order[-2:]):
        extents[nest.axes[position]] = nest.axes[position].extent
        sizes.append(_touched(analysis, extents))
    in_tile, row, plane = sizes = sizes + [sizes[-1]] * (3 - len(sizes))
    first, second, *_ = (memory.bytes for memory in space.machine.memories)
    return [
        log_share(in_tile, first),
        log_share(row, first),
        log_share(row, second),
        log_share(plane, second),
        *(sum(size > cache.bytes for cache in space.machine.caches) for size in sizes),
        log_size(operations_of(analysis) / max(in_tile, 1.0)),
    ]


def _touched(analysis: NestAnalysis, extents: dict[Axis, int]) -> float:
    """Bytes that all loads touch over a box of axes."""
    return float(sum(_bytes(access, extents) for access in analysis.accesses))


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
