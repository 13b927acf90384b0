"""What a tiled nest costs, estimated: operations, loads, registers, and bytes from each cache.

The estimate ranks schedules before anything is measured (it chooses the default one) and gives the
features from which the cost model learns the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from operator import mul
from types import MappingProxyType

from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.machine import Machine
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.operation_count import (
    operation_count,
    shared_operation_count,
    written_out_axes,
)
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.lane_rows import move_instructions
from relay_tune.tensor.loops import Buffer
from relay_tune.tensor.walk import loads

ELEMENT_BYTES = {"64": 8, "32": 4, "16": 2, "t8": 1, "ol": 1}

REMEMBERED = 1 << 16
"""Estimates, and parts of them, that are kept: a search asks for the same ones again and again."""

REMEMBERED_NESTS = 1 << 11

REMATERIALISED_LOADS = 12
"""How many shared values the compiler was seen to load again at no cost."""

LEAST_OPERANDS = 4
"""Registers that a window's step needs beside its accumulators; values beyond are loaded again."""

RELOADS = 2.0
"""Accesses to memory for a shared value that finds no register: written once, read once more."""

SPREAD_WINDOW = 1.3
"""How much longer written-out steps take that read elements which are spread over the lanes.

Measured with first layers, one core, rows of taps written out against single steps: 3 to 64
channels, 224x224: 1.67 and 1.21 ms; 3 to 32 channels, 112x112: 0.20 and 0.15. It is more where
outputs leave the caches: arithmetic hides less of their transfer.
"""

MOST_TAPS = 11
"""Along one axis of a window; longer axes are channels."""

LOAD_CYCLES = 0.1
"""What a load costs behind arithmetic: energy, so that some processors slow their clock."""

LANE_REDUCTION_CYCLES = 24.0
"""Combining the lanes of an accumulator, each level of which waits for the one before."""

EXPOSED_SHARE = 0.5
"""How much of the transfer of weights no arithmetic hides, unless it is asked for early."""

PREFETCH_COST = 0.05
"""What asking for weights early costs, relative to their transfer."""

LINE_BYTES = 64
"""Of a cache line."""

PARTIAL_ROW = 1.5
"""How much slower parts of rows come from a cache than whole ones."""

LONG_ROW = 1 << 10
"""Bytes of a part that the processor fetches ahead like a whole row."""

FOLLOWED_STREAMS = 32
CROWDED_STREAMS = 2.0
"""From beyond the second cache, more streams than the processor follows come so much slower.

Measured with the transform of Winograd's products, 36 streams: 1.9 to 2.3 times.
"""

NOTHING_UNROLLED: Mapping[Axis, int] = MappingProxyType({})


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """One load of a nest's reduction body or epilogue.

    Attributes:
        form: of the flat index, if it is affine.
        bytes: of one element.
        constant: whether it reads a constant.
        elements: those that it is among.
        is_near: whether a nest before has touched what it reads.
    """

    form: Affine | None
    bytes: int
    constant: bool
    elements: int
    is_near: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Near:
    """What the nests before have left in a cache.

    Attributes:
        tensors: of which the part that the nest reads or writes is there.
        bytes: all that the nests work on meanwhile, which decides how near the cache is.
        repeats: how often the nests run, one block after the other, with the same constants.
    """

    tensors: frozenset[Tensor] = frozenset()
    bytes: int = 0
    repeats: int = 1


NOTHING_NEAR = Near()


@dataclass(frozen=True, eq=False, slots=True)
class NestAnalysis:
    """The schedule-independent part of the estimate.

    Attributes:
        nest: the nest.
        body_accesses: the loads of one reduction step.
        result_accesses: the loads of the result.
        body_operations: vector instructions of one reduction step.
        result_operations: vector instructions for one result, on average over `written_out`.
        store_form: where the result goes, if that is affine.
        store_bytes: of one element.
        stored_around: the bytes among which the result is stored, lines that are read for it too.
        written_out: axes that a register tile always covers (see `written_out_axes`).
        near: what the nests before have left.
        beside_windows: the positions of axes that sliding windows do not move along, where no axis
            uses a window again (a depthwise convolution, a pool): blocks of them keep rows near.
    """

    nest: Nest
    body_accesses: tuple[Access, ...]
    result_accesses: tuple[Access, ...]
    body_operations: float
    result_operations: float
    store_form: Affine | None
    store_bytes: int
    stored_around: int
    written_out: frozenset[Axis]
    near: Near
    beside_windows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of a scheduled nest.

    Attributes:
        cycles: of one core for the whole nest.
        compute_cycles: the arithmetic and loads from the first cache alone.
        memory_cycles: the traffic beyond it alone.
        accumulators: registers of the tile.
        registers: accumulators and operands together.
        wanted: registers that would hold all that the written-out steps of a tile share, too.
        code: instructions of the innermost loop body.
        waste: computed points over needed points (vector tails count as full).
        loads_per_operation: loads of the innermost body for each arithmetic instruction.
        tiles: the number of register tiles.
    """

    cycles: float
    compute_cycles: float
    memory_cycles: float
    accumulators: int
    registers: int
    wanted: int
    code: int
    waste: float
    loads_per_operation: float
    tiles: int

    def times(self, count: int) -> Estimate:
        """The estimate of running the nest so often."""
        if count == 1:
            return self
        return replace(
            self,
            cycles=self.cycles * count,
            compute_cycles=self.compute_cycles * count,
            memory_cycles=self.memory_cycles * count,
            tiles=self.tiles * count,
        )


def element_bytes(dtype: str) -> int:
    """Bytes of one stored element."""
    return ELEMENT_BYTES[dtype[-2:]]


@lru_cache(maxsize=REMEMBERED_NESTS)
def analyse(nest: Nest, constants: frozenset[Tensor], near: Near = NOTHING_NEAR) -> NestAnalysis:
    """What can be said of a nest before a schedule is chosen.

    Spaces for different numbers of threads share it, and with it their estimates.
    """
    body = () if nest.body is None else tuple(_accesses(nest.body, constants, near))
    store_bytes = element_bytes(nest.target.dtype)
    around = prod(nest.target.shape) * store_bytes
    written_out = written_out_axes(nest)
    return NestAnalysis(
        nest=nest,
        body_accesses=body,
        result_accesses=tuple(_accesses(nest.result, constants, near)),
        body_operations=0.0 if nest.body is None else operation_count(nest.body, reduced=True),
        result_operations=(
            shared_operation_count(nest.result, written_out)
            if written_out
            else operation_count(nest.result, reduced=False)
        ),
        store_form=axis_affine(nest.index),
        store_bytes=store_bytes,
        stored_around=near.bytes if nest.target in near.tensors else 2 * around,
        written_out=written_out,
        near=near,
        beside_windows=_beside_windows(nest, body),
    )


def _beside_windows(nest: Nest, accesses: Sequence[Access]) -> tuple[int, ...]:
    for access in accesses:
        form = access.form
        if form is None or access.constant or not all(form.coefficient(a) for a in nest.axes):
            continue
        moving = [axis for axis in nest.axes if _slides(form, axis, nest.reduction)]
        if moving:
            return tuple(n for n, axis in enumerate(nest.axes) if axis not in moving)
    return ()


def _accesses(root: Scalar, constants: frozenset[Tensor], near: Near) -> Iterator[Access]:
    for load in loads(root):
        tensor, size = load.tensor, element_bytes(load.dtype)
        if isinstance(tensor, FlatView | Buffer):
            is_constant = isinstance(tensor, FlatView) and tensor.viewed in constants
            is_near = tensor in near.tensors
            among = near.bytes // size if is_near else prod(tensor.shape)
            yield Access(axis_affine(load.indices[0]), size, is_constant, among, is_near)


@lru_cache(maxsize=REMEMBERED)
def estimate(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> Estimate:
    """The estimate of a nest under a choice."""
    nest = analysis.nest
    variants = [_axis_variants(axis.extent, tile) for axis, tile in _tiled(nest, choice)]
    steps = prod(axis.extent for axis in nest.reduction)
    compute, tiles, points = 0.0, 0, 0
    for variant in product(*variants):
        count = prod(times for times, _ in variant)
        extents = {a: size for (a, _), (_, size) in zip(_tiled(nest, choice), variant, strict=True)}
        compute += count * _tile_cycles(analysis, choice, machine, extents, steps)
        tiles += count
        points += count * _vectors(nest, choice, extents) * choice.lanes
    memory, exposed = _memory_cycles(analysis, choice, machine)
    use = register_use(analysis, choice, machine)
    needed = max(prod(axis.extent for axis in nest.axes), 1)
    return Estimate(
        cycles=max(compute, memory) + 0.15 * min(compute, memory) + exposed,
        compute_cycles=compute,
        memory_cycles=memory,
        accumulators=use.accumulators,
        registers=use.registers,
        wanted=use.wanted,
        code=use.code,
        waste=points / needed if choice.vector >= 0 else 1.0,
        loads_per_operation=use.loads_per_operation,
        tiles=tiles,
    )


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """What the innermost loop body of a choice takes; see the attributes of `Estimate`."""

    accumulators: int
    registers: int
    wanted: int
    code: int
    loads_per_operation: float


def register_use(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> RegisterUse:
    """The part of the estimate that tells whether a choice can be fast at all."""
    nest = analysis.nest
    full = dict(_tiled(nest, choice))
    written = _vectors(nest, choice, full)
    held = accumulators(analysis, choice)
    body = _body_loads(analysis, choice, full)
    in_use, _, _ = _operands(body, written, machine)
    innermost = analysis.result_operations if nest.body is None else analysis.body_operations
    operations = max(written * innermost, 1.0)
    loaded = sum(body.counts) or _loads(analysis.result_accesses, nest, choice, full)
    code = int((operations + loaded) * max(choice.unroll, 1))
    wanted = held + (int(body.values) if body.slides else in_use) + 1
    return RegisterUse(held, held + in_use + 1, wanted, code, loaded / operations)


def shares_weights(analysis: NestAnalysis, choice: TileChoice) -> bool:
    """Whether several tiles in a row read the same weights, while the next can be fetched."""
    nest = analysis.nest
    innermost = next(
        (loop for loop in reversed(outer_loops(nest.axes, choice)) if loop.count > 1), None
    )
    if innermost is None:
        return False
    axis = nest.axes[innermost.place]
    weights = [access for access in analysis.body_accesses if access.constant]
    return any(access.form is not None and not access.form.coefficient(axis) for access in weights)


def accumulators(analysis: NestAnalysis, choice: TileChoice) -> int:
    """Registers that hold the points of a full tile; places written out are stored at once."""
    extents = {
        axis: 1 if axis in analysis.written_out else extent
        for axis, extent in _tiled(analysis.nest, choice)
    }
    return _vectors(analysis.nest, choice, extents)


def _tiled(nest: Nest, choice: TileChoice) -> list[tuple[Axis, int]]:
    return list(zip(nest.axes, choice.tile, strict=True))


def _axis_variants(extent: int, tile: int) -> list[tuple[int, int]]:
    """(how many tiles, their extent): the full ones and the one at the edge."""
    full, rest = divmod(extent, tile)
    return [(full, tile)] * bool(full) + [(1, rest)] * bool(rest)


def _vector_axis(nest: Nest, choice: TileChoice) -> Axis | None:
    return nest.axes[choice.vector] if choice.vector >= 0 else None


def _vectors(nest: Nest, choice: TileChoice, extents: dict[Axis, int]) -> int:
    """Registers that hold the points of a tile."""
    vector = _vector_axis(nest, choice)
    count = 1
    for axis, extent in extents.items():
        count *= -(-extent // choice.lanes) if axis is vector else extent
    return count * (choice.unroll if choice.vector == -2 else 1)


def _loads(
    accesses: tuple[Access, ...],
    nest: Nest,
    choice: TileChoice,
    extents: dict[Axis, int],
    unrolled: Mapping[Axis, int] = NOTHING_UNROLLED,
    *,
    values: bool = False,
) -> float:
    """Load instructions for one pass of a tile's body; scattered lanes count as they are moved.

    With `values`, the registers that hold what is loaded.

    With `unrolled` reduction steps the pass covers all of them, and points that read the same
    element (neighbours under a sliding window) share a load.
    """
    vector = _vector_axis(nest, choice)
    total = 0.0
    for access in accesses:
        if access.form is None:
            total += _vectors(nest, choice, extents) * choice.lanes
            continue
        count = _distinct(access.form, extents, unrolled, vector, choice.lanes)
        if not values and vector is not None and not _is_streamed(access, vector, nest):
            count *= _moves(access.form, vector, choice.lanes, extents)
        total += count
    return total


def _distinct(
    form: Affine,
    extents: Mapping[Axis, int],
    unrolled: Mapping[Axis, int],
    vector: Axis | None,
    lanes: int,
) -> float:
    """Different places that an access touches in a tile, vectors counting once."""
    factors = form.terms
    windows = {axis: steps for axis, steps in unrolled.items() if axis in factors}
    count = 1.0
    for axis, extent in extents.items():
        if axis not in factors:
            continue
        if axis is vector:
            count *= -(-extent // lanes)
            continue
        points, factor = extent, factors[axis]
        for window, steps in windows.items():
            stride = factor // factors[window]
            if stride and factor == stride * factors[window] and stride <= steps:
                points = (points - 1) * stride + steps
                del windows[window]
                break
        count *= points
    for steps in windows.values():
        count *= steps
    return count


def _is_streamed(access: Access, vector: Axis, nest: Nest) -> bool:
    """Whether a vector of this access is one load (contiguous, the same, or packed)."""
    assert access.form is not None
    factor = access.form.terms.get(vector, 0)
    return factor in (0, 1) or (access.constant and bool(nest.reduction))


def _moves(form: Affine, vector: Axis, lanes: int, extents: Mapping[Axis, int]) -> float:
    """What moving a vector of an access to or from memory costs, in loads.

    Rows along a reduction are not counted: its own lanes are better there.
    """
    row = next((n for a, n in extents.items() if a is not vector and form.coefficient(a) == 1), 1)
    return move_instructions(form.coefficient(vector), row, lanes)


@dataclass(frozen=True, slots=True)
class _BodyLoads:
    """Load instructions of a tile's reduction body.

    Attributes:
        counts: of each access in one step.
        together: steps that are written out.
        shared: loads of all of these, where equal elements are loaded once.
        values: registers that hold what these load.
        slides: whether the steps load less together than each by itself, as a sliding window does.
        row: vectors that one row of a sliding window loads, if there are several rows of them.
        row_steps: the steps of such a row.
    """

    counts: tuple[float, ...]
    together: int
    shared: float
    values: float = 0.0
    slides: bool = False
    row: float = 0.0
    row_steps: int = 1


def _body_loads(analysis: NestAnalysis, choice: TileChoice, extents: dict[Axis, int]) -> _BodyLoads:
    nest, accesses = analysis.nest, analysis.body_accesses
    counts = tuple(_loads((access,), nest, choice, extents) for access in accesses)
    if choice.vector == -2 or choice.unroll == 1:
        return _BodyLoads(counts, 1, sum(counts))
    reduction = [nest.reduction[place] for place in choice.reduction_order]
    unrolled = unrolled_extents(reduction, choice.unroll)
    together = prod(unrolled.values())
    shared = _loads(accesses, nest, choice, extents, unrolled)
    values = _loads(accesses, nest, choice, extents, unrolled, values=True)
    if values >= 0.9 * together * _loads(accesses, nest, choice, extents, values=True):
        return _BodyLoads(counts, together, shared, values)
    in_row = {**unrolled, reduction[0]: 1} if len(reduction) > 1 else unrolled
    vector = _vector_axis(nest, choice)
    vectors = tuple(a for a in accesses if a.form is None or vector in a.form.terms)
    row = _loads(vectors, nest, choice, extents, in_row, values=True)
    return _BodyLoads(counts, together, shared, values, True, row, prod(in_row.values()))


def _spreads_windows(analysis: NestAnalysis, choice: TileChoice) -> bool:
    """Whether written-out steps of a window read elements that are spread over the lanes."""
    nest = analysis.nest
    if choice.unroll == 1 or choice.vector == -2 or len(nest.reduction) < 2:
        return False
    unrolled = unrolled_extents([nest.reduction[n] for n in choice.reduction_order], choice.unroll)
    window = [axis for axis, count in unrolled.items() if count > 1 and axis.extent <= MOST_TAPS]
    vector = _vector_axis(nest, choice)
    return any(
        access.form is not None
        and not access.constant
        and vector not in access.form.terms
        and any(axis in access.form.terms for axis in window)
        for access in analysis.body_accesses
    )


def _operands(loaded: _BodyLoads, vectors: int, machine: Machine) -> tuple[int, float, float]:
    """(registers of operands that stay live, loads for want of registers, spills) of a step.

    Live is the smallest reused set of a reduction step. Where written-out steps share loads (a
    sliding window), what they share stays live as far as there are registers; the rest costs loads,
    and of vectors that a row of the window shares spills.
    """
    if not loaded.counts:
        return 2, 0.0, 0.0
    if not loaded.slides:
        return int(min(min(loaded.counts), 8)), 0.0, 0.0
    live = max(min(loaded.together, 10), int(loaded.values) - REMATERIALISED_LOADS)
    free = max(machine.registers - vectors - 1, LEAST_OPERANDS)
    kept = min(live, free)
    spilled = max(loaded.row - LEAST_OPERANDS - free, 0.0) / loaded.row_steps
    return kept, RELOADS * (live - kept) / loaded.together, spilled


def _tile_cycles(
    analysis: NestAnalysis,
    choice: TileChoice,
    machine: Machine,
    extents: dict[Axis, int],
    steps: int,
) -> float:
    nest = analysis.nest
    vectors = _vectors(nest, choice, extents)
    stored = vectors * _stores(analysis, choice, extents)
    epilogue = (
        analysis.result_operations * vectors / machine.fused_per_cycle
        + _loads(analysis.result_accesses, nest, choice, extents) / machine.loads_per_cycle
        + stored
    )
    if nest.body is None:
        return epilogue + 1.0
    if choice.vector == -2:
        steps = -(-steps // (choice.lanes * choice.unroll))
        epilogue += LANE_REDUCTION_CYCLES * prod(extents.values())
    body = _body_loads(analysis, choice, extents)
    loaded = body.shared / body.together * (choice.unroll if choice.vector == -2 else 1)
    operands, reloaded, spilled = _operands(body, vectors, machine)
    loaded += reloaded
    spilled += max(0, vectors + operands - machine.registers)
    step = max(
        vectors * analysis.body_operations / machine.fused_per_cycle,
        loaded / machine.loads_per_cycle,
        machine.latency,
    )
    step += LOAD_CYCLES * loaded
    if _spreads_windows(analysis, choice):
        step *= SPREAD_WINDOW
    overhead = 1.0 / max(choice.unroll, 1) if choice.vector != -2 else 0.5
    return 10.0 + epilogue + steps * (step + 0.5 * overhead + 2.0 * spilled)


def _stores(analysis: NestAnalysis, choice: TileChoice, extents: Mapping[Axis, int]) -> float:
    """Instructions that store one vector."""
    vector, form = _vector_axis(analysis.nest, choice), analysis.store_form
    if vector is None:
        return 1.0 if choice.vector == -2 else float(choice.lanes)
    if form is None or not form.terms.get(vector, 0):
        return float(choice.lanes)
    return _moves(form, vector, choice.lanes, extents)


def _memory_cycles(
    analysis: NestAnalysis, choice: TileChoice, machine: Machine
) -> tuple[float, float]:
    """Traffic beyond the first cache, and waiting for weights that nothing hides.

    A load is fetched again in each iteration of the loops that it depends on; between two uses
    lies the data of the innermost loop that it does not depend on, and the smallest cache which
    holds that serves the load.
    """
    nest = analysis.nest
    accesses = [*analysis.body_accesses, *analysis.result_accesses]
    reduced = {axis: axis.extent for axis in nest.reduction}
    tile = {axis: min(extent, axis.extent) for axis, extent in _tiled(nest, choice)}
    outer = outer_loops(nest.axes, choice)
    boxes = [_footprints(accesses, tile, reduced)]
    inner = dict(tile)
    ahead = 2 if choice.prefetch else 1  # the next weights come while these are used
    places = [ahead if access.constant else 1 for access in accesses]
    loops: list[tuple[Axis, int]] = []
    for loop in reversed(outer):
        axis = nest.axes[loop.place]
        loops.append((axis, loop.count))
        if loop.count == 1:
            boxes.append(boxes[-1])
            continue
        inner[axis] = min(inner[axis] * loop.count, axis.extent)
        boxes.append(_footprints(accesses, inner, reduced))
    working_sets = [sum(map(mul, box, places)) for box in boxes]
    far = sum(a.elements * a.bytes > machine.cache_bytes[1] and not a.is_near for a in accesses)
    crowding = CROWDED_STREAMS if far > FOLLOWED_STREAMS else 1.0
    cycles, exposed = 0.0, 0.0
    for access, touched in zip(accesses, zip(*boxes, strict=True), strict=True):
        again, first, waited = _access_cycles(
            access, touched, loops, working_sets, analysis, machine
        )
        scattered = _scatter(access, nest, tile, loops)
        cycles += scattered * (again + first * (1.0 if access.is_near else crowding))
        if access.constant:
            exposed += (PREFETCH_COST if choice.prefetch else EXPOSED_SHARE) * waited
    stored = prod(axis.extent for axis in nest.axes) * analysis.store_bytes
    is_near = nest.target in analysis.near.tensors
    bandwidth = _kept_bandwidth if is_near else _bandwidth
    cycles += 2 * stored / bandwidth(analysis.stored_around, machine)
    return cycles + _torn_lines(analysis, tile, stored) / machine.cache_bandwidth[1], exposed


def _torn_lines(analysis: NestAnalysis, tile: Mapping[Axis, int], stored: int) -> float:
    """Bytes of cache lines that tiles touch a part of, beyond that part.

    Counted for what is stored, and read without a reduction; other tiles fetch them again.
    """
    torn = 0.0
    if analysis.store_form is not None:
        torn += _torn(analysis.store_form, analysis.store_bytes, tile) * stored
    if analysis.nest.body is not None:
        return torn
    for access in analysis.result_accesses:
        if access.form is not None:
            read = prod(axis.extent for axis in tile if access.form.coefficient(axis))
            torn += _torn(access.form, access.bytes, tile) * read * access.bytes
    return torn


def _torn(form: Affine, size: int, tile: Mapping[Axis, int]) -> float:
    """The bytes of the lines that a tile touches beside those that it wants, by the latter."""
    run = 1
    for axis in sorted(tile, key=form.coefficient):
        if form.coefficient(axis) == run:
            run *= tile[axis]
            if tile[axis] < axis.extent:
                break
    return max(LINE_BYTES / (run * size) - 1.0, 0.0)


def _scatter(
    access: Access, nest: Nest, tile: Mapping[Axis, int], loops: Sequence[tuple[Axis, int]]
) -> float:
    """What a tile pays for taking only a part of each row that a reduction step reads.

    Rows that are read whole follow each other in memory; packed constants always do. A row goes on
    in the tiles that follow as far as the innermost loops (`loops`, from the inside out) walk along
    it; a long part of it is as good as all.
    """
    form = access.form
    if form is None or access.constant or nest.body is None:
        return 1.0
    axes = sorted((axis for axis in tile if form.coefficient(axis)), key=form.coefficient)
    if not axes or form.coefficient(axes[0]) != 1:
        return 1.0
    run = dict(tile)
    for axis, count in loops:
        before = axes[: axes.index(axis)] if axis in axes else axes
        if count > 1 and (axis not in axes or any(run[a] < a.extent for a in before)):
            break
        run[axis] = min(run[axis] * count, axis.extent)
    length = access.bytes
    for axis in axes:
        length *= run[axis]
        if run[axis] < axis.extent:
            return PARTIAL_ROW if length < LONG_ROW else 1.0
    return 1.0


def _access_cycles(
    access: Access,
    touched: Sequence[float],
    loops: list[tuple[Axis, int]],
    working_sets: list[float],
    analysis: NestAnalysis,
    machine: Machine,
) -> tuple[float, float, float]:
    """Cycles for one access: reading again, reading first, and what of that may be waited for.

    `touched` are the bytes that it touches in a tile and inside of each loop. `loops` and their
    counts go from the inside out, `working_sets` are the bytes inside each. What an iteration
    shares with the one before (rows of a sliding window) costs its loads alone in the first cache;
    where windows are used several times, arithmetic hides that. Weights are never in the second
    cache at first: a whole network has run since their last use. Where the nest is repeated, they
    may be there from the second time on.
    """
    near, moved, again, repeated, reused = analysis.near, touched[0], 0.0, 1.0, False
    for depth, (axis, count) in enumerate(loops):
        depends = access.form is None or access.form.coefficient(axis) != 0
        is_kept = bool(analysis.beside_windows) and working_sets[depth] <= machine.cache_bytes[0]
        if reused:
            repeated *= 1 if is_kept and not depends else count
        elif depends or count == 1:
            moved = min(moved * count, touched[depth + 1] if is_kept else math.inf)
        else:
            reused = True
            again = moved * (count - 1) / _bandwidth(working_sets[depth], machine)
    if access.form is not None and not analysis.beside_windows:
        moved = min(moved, float(access.elements * access.bytes))  # the last tile is a part of one
    everything = access.elements * access.bytes
    if not access.constant:
        bandwidth = _kept_bandwidth if access.is_near else _bandwidth
        return again * repeated, moved * repeated / bandwidth(everything, machine), 0.0
    beyond = machine.cache_bytes[1] + 1
    cold = moved * repeated / _bandwidth(max(everything, beyond), machine) / near.repeats
    around = everything + near.bytes
    warm = moved * repeated / _kept_bandwidth(around, machine) * (1 - 1 / near.repeats)
    return again * repeated, cold + warm, cold + (warm if around >= beyond else 0.0)


def _slides(form: Affine, axis: Axis, reduction: Sequence[Axis]) -> bool:
    """Whether neighbours on an axis read some of the same elements, under a sliding window."""
    for step in reduction:
        stride, rest = divmod(form.coefficient(axis), form.coefficient(step) or 1)
        if form.coefficient(step) and not rest and 0 < stride < step.extent:
            return True
    return False


def _footprints(
    accesses: Sequence[Access], extents: dict[Axis, int], reduced: dict[Axis, int]
) -> list[float]:
    """Bytes that each access touches over a box."""
    return [_footprint(access, extents, reduced) for access in accesses]


def _footprint(access: Access, extents: dict[Axis, int], reduced: dict[Axis, int]) -> float:
    """Bytes that an access touches over a box; a sliding window counts its overlap once."""
    if access.form is None:
        return float(access.bytes * prod(extents.values()))
    points = _distinct(access.form, extents, reduced, None, 1)
    return access.bytes * min(points, float(access.elements))


def _bandwidth(working_set: float, machine: Machine) -> float:
    """Bytes a cycle from the smallest cache that holds a working set."""
    for size, speed in zip(machine.cache_bytes, machine.cache_bandwidth, strict=False):
        if working_set <= size:
            return speed
    return machine.cache_bandwidth[-1]


def _kept_bandwidth(working_set: float, machine: Machine) -> float:
    """The same for what was just touched: of up to twice a cache's bytes a part is still there."""
    for level, (size, speed) in enumerate(
        zip(machine.cache_bytes, machine.cache_bandwidth, strict=False)
    ):
        if working_set < 2 * size:
            missing = max(0.0, working_set / size - 1)
            return 1 / ((1 - missing) / speed + missing / machine.cache_bandwidth[level + 1])
    return machine.cache_bandwidth[-1]
