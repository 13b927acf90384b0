"""A fixed-length description of a scheduled program, for a cost model to learn from.

The nest with the most estimated cycles is described in full, the second one in short, the others by
their sums. All values are finite; sizes enter as logarithms, so that doubling is one step
everywhere. What depends on the machine is told relative to it (bytes by the size of a cache, lanes
and registers by what there is), so that what was learned on one machine holds on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, log2, prod

from relay_tune.schedule.analysis import Access, NestAnalysis
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.estimate import Estimate
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.schedule.space import NestSpace
from relay_tune.tensor.expression import Axis

FLOAT_BYTES = 4

REMEMBERED = 2048
"""Values that depend on a nest alone; a search asks for them again and again."""

DESCRIBED_AXES = 4
"""The innermost axes that are described one by one."""

NEST_NAMES = (
    "log_output_points",
    "log_reduction_points",
    "log_operations",
    "axes",
    "reduction_axes",
    "body_operations",
    "result_operations",
    "store_bytes",
    "body_loads",
    "result_loads",
    "gathers",
    "constant_loads",
    "log_read_by_cache",
    "log_constant_by_cache",
    "log_written_by_cache",
    "log_operations_per_byte",
)

AXIS_NAMES = tuple(
    f"axis{place}_{name}"
    for place in range(DESCRIBED_AXES)
    for name in ("log_extent", "log_tile", "log_tiles", "edge", "position", "reuses")
)

CHOICE_NAMES = (
    "vector_of_reduction",
    "scalar",
    "vector_from_end",
    "log_lanes_by_width",
    "vectors",
    "lanes_used",
    "store_is_vector",
    "streamed_loads",
    "broadcast_loads",
    "scattered_loads",
    "log_tile_points",
    "log_unroll",
    "order_is_stored",
    "innermost_reuses",
    "log_innermost_tiles",
    "log_innermost_reduction",
    "innermost_reduction_contiguous",
    "reduction_order_is_stored",
    "log_chunks",
    "log_chunks_per_thread",
    "imbalance",
    "log_threads",
    "log_blocks",
    "log_tile_by_first_cache",
    "log_row_by_first_cache",
    "log_row_by_second_cache",
    "log_plane_by_second_cache",
    "tile_cache_level",
    "row_cache_level",
    "plane_cache_level",
    "log_reuse_of_loads",
)

ESTIMATE_NAMES = (
    "log_cycles",
    "log_compute_cycles",
    "log_memory_cycles",
    "log_memory_share",
    "log_cycles_per_operation",
    "accumulators_by_registers",
    "operands_by_registers",
    "registers_over",
    "wanted_by_registers",
    "log_code",
    "waste",
    "loads_per_operation",
    "log_tiles",
    "log_operations_per_tile",
)

GROUP_NAMES = (
    "log_repeats",
    "log_near_by_first_cache",
    "log_near_by_second_cache",
)

SECOND_NAMES = (
    "second_share",
    "second_vector_of_reduction",
    "second_log_lanes_by_width",
    "second_vectors",
    "second_log_tile_points",
    "second_log_unroll",
    "second_log_tiles",
    "second_loads_per_operation",
)

PROGRAM_NAMES = (
    "nests",
    "log_other_cycles",
    "other_share",
    "log_other_points",
    "log_fixed_cycles",
    "log_total_cycles",
)

FEATURE_NAMES = (
    *NEST_NAMES,
    *AXIS_NAMES,
    *CHOICE_NAMES,
    *ESTIMATE_NAMES,
    *GROUP_NAMES,
    *SECOND_NAMES,
    *PROGRAM_NAMES,
)
"""The names of the features, in their order."""

TOTAL_CYCLES = FEATURE_NAMES.index("log_total_cycles")


def features(
    spaces: Sequence[NestSpace],
    choices: Sequence[TileChoice],
    estimates: Sequence[Estimate],
    fixed_cycles: float,
) -> list[float]:
    """The features of a program with one choice, and its estimate, for each of its nests.

    `spaces` are those of the program's plan; there must be at least one nest. `fixed_cycles` are
    estimated beside those of the nests.
    """
    ranked = sorted(range(len(spaces)), key=lambda place: -estimates[place].cycles)
    main = ranked[0]
    space, choice, found = spaces[main], choices[main], estimates[main]
    total = sum(estimate.cycles for estimate in estimates)
    others = total - found.cycles
    points = sum(other.analysis.nest.points for other in spaces) - space.analysis.nest.points
    values = [
        *_nest_values(space),
        *_axis_values(space.analysis, choice),
        *_choice_values(space, choice),
        *_estimate_values(space, choice, found),
        *_group_values(space),
        *_second_values(spaces, choices, estimates, ranked),
        float(len(spaces)),
        _log(others),
        others / total if total else 0.0,
        _log(points),
        _log(fixed_cycles),
        _log(total + fixed_cycles),
    ]
    return [float(value) for value in values]


def estimated_throughput(described: Sequence[float]) -> float:
    """The natural logarithm of the runs in an estimated cycle, from the features of a schedule."""
    return -log(2.0) * described[TOTAL_CYCLES]


def _log(value: float) -> float:
    return log2(1.0 + max(value, 0.0))


def _by(size: float, whole: float) -> float:
    """The logarithm of a size as a share of another one; that of nothing as of a single byte."""
    return log2(max(size, 1.0) / whole)


def _operations(analysis: NestAnalysis) -> float:
    return analysis.nest.points * max(analysis.body_operations, 1.0)


def _accesses(analysis: NestAnalysis) -> tuple[Access, ...]:
    return (*analysis.body_accesses, *analysis.result_accesses)


@lru_cache(maxsize=REMEMBERED)
def _nest_values(space: NestSpace) -> list[float]:
    analysis, nest = space.analysis, space.analysis.nest
    cache = space.machine.cache_bytes[1]
    accesses = _accesses(analysis)
    outputs = prod(axis.extent for axis in nest.axes)
    read = sum(access.bytes * access.elements for access in accesses)
    written = outputs * analysis.store_bytes
    return [
        _log(outputs),
        _log(prod(axis.extent for axis in nest.reduction)),
        _log(_operations(analysis)),
        len(nest.axes),
        len(nest.reduction),
        analysis.body_operations,
        analysis.result_operations,
        analysis.store_bytes,
        len(analysis.body_accesses),
        len(analysis.result_accesses),
        sum(access.form is None for access in accesses),
        sum(access.constant for access in accesses),
        _by(read, cache),
        _by(sum(access.bytes * access.elements for access in accesses if access.constant), cache),
        _by(written, cache),
        _log(_operations(analysis) / max(read + written, 1)),
    ]


def _axis_values(analysis: NestAnalysis, choice: TileChoice) -> list[float]:
    """The innermost axes as stored, innermost first; zeros where there are fewer."""
    values: list[float] = []
    nest = analysis.nest
    for place in range(len(nest.axes) - 1, len(nest.axes) - 1 - DESCRIBED_AXES, -1):
        if place < 0:
            values += [0.0] * (len(AXIS_NAMES) // DESCRIBED_AXES)
            continue
        axis, tile = nest.axes[place], choice.tile[place]
        values += [
            _log(axis.extent),
            _log(tile),
            _log(-(-axis.extent // tile)),
            (axis.extent % tile) / tile,
            len(nest.axes) - choice.order.index(place),
            _reusing(analysis, axis),
        ]
    return values


@lru_cache(maxsize=REMEMBERED)
def _reusing(analysis: NestAnalysis, axis: Axis) -> int:
    """How many loads of the body are the same all along an axis."""
    return sum(
        access.form is not None and access.form.coefficient(axis) == 0
        for access in analysis.body_accesses
    )


def _choice_values(space: NestSpace, choice: TileChoice) -> list[float]:
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
        for access in _accesses(analysis)
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
        _by(choice.lanes * FLOAT_BYTES, space.machine.vector_bytes),
        vectors,
        tile / (vectors * choice.lanes),
        is_stored,
        along.count(1),
        along.count(0),
        len(along) - along.count(1) - along.count(0),
        _log(prod(choice.tile)),
        _log(choice.unroll),
    ]


def _order_values(analysis: NestAnalysis, choice: TileChoice) -> list[float]:
    nest = analysis.nest
    stored = choice.order == tuple(range(len(nest.axes)))
    reuses, tiles = 0, 1
    if choice.order:
        place = choice.order[-1]
        reuses = _reusing(analysis, nest.axes[place])
        tiles = -(-nest.axes[place].extent // choice.tile[place])
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
        _log(tiles),
        _log(extent),
        contiguous,
        choice.reduction_order == tuple(range(len(nest.reduction))),
    ]


def _parallel_values(space: NestSpace, choice: TileChoice) -> list[float]:
    nest = space.analysis.nest
    chunks = prod(loop.count for loop in outer_loops(nest.axes, choice)[: choice.parallel])
    rounds = -(-chunks // space.threads)
    return [
        _log(chunks),
        _log(chunks / space.threads),
        rounds * space.threads / chunks,
        _log(space.threads),
        log2(prod(choice.blocks)),
    ]


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
    return float(sum(_bytes(access, extents) for access in _accesses(analysis)))


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


def _footprint_values(space: NestSpace, choice: TileChoice) -> list[float]:
    found = _footprints(space.analysis, choice)
    sizes = (found.tile, found.row, found.plane)
    reuse = _operations(space.analysis) / max(found.tile, 1.0)
    first, second, *_ = space.machine.cache_bytes
    return [
        _by(found.tile, first),
        _by(found.row, first),
        _by(found.row, second),
        _by(found.plane, second),
        *(sum(size > cache for cache in space.machine.cache_bytes) for size in sizes),
        _log(reuse),
    ]


def _estimate_values(space: NestSpace, choice: TileChoice, found: Estimate) -> list[float]:
    operations = _operations(space.analysis)
    return [
        _log(found.cycles),
        _log(found.compute_cycles),
        _log(found.memory_cycles),
        _log(found.memory_cycles / max(found.compute_cycles, 1e-9)),
        _log(found.cycles * choice.lanes / max(operations, 1.0)),
        found.accumulators / space.machine.registers,
        (found.registers - found.accumulators) / space.machine.registers,
        max(0, found.registers - space.machine.registers),
        found.wanted / space.machine.registers,
        _log(found.code),
        found.waste,
        found.loads_per_operation,
        _log(found.tiles),
        _log(operations / max(found.tiles, 1)),
    ]


def _group_values(space: NestSpace) -> list[float]:
    """How the nests around share a block of rows; zeros for a nest by itself."""
    if not space.repeats:
        return [0.0] * len(GROUP_NAMES)
    first, second, *_ = space.machine.cache_bytes
    return [
        _log(space.repeats),
        _by(space.analysis.near.bytes, first),
        _by(space.analysis.near.bytes, second),
    ]


def _second_values(
    spaces: Sequence[NestSpace],
    choices: Sequence[TileChoice],
    estimates: Sequence[Estimate],
    ranked: Sequence[int],
) -> list[float]:
    """The nest with the second most estimated cycles; zeros if there is one nest only."""
    if len(ranked) < 2:
        return [0.0] * len(SECOND_NAMES)
    place = ranked[1]
    space, choice, found = spaces[place], choices[place], estimates[place]
    tile = choice.tile[choice.vector] if choice.vector >= 0 else choice.lanes
    return [
        found.cycles / max(estimates[ranked[0]].cycles, 1.0),
        choice.vector == -2,
        _by(choice.lanes * FLOAT_BYTES, space.machine.vector_bytes),
        -(-tile // choice.lanes),
        _log(prod(choice.tile)),
        _log(choice.unroll),
        _log(found.tiles),
        found.loads_per_operation,
    ]
