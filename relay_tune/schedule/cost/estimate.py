"""What a tiled nest costs, estimated: operations, loads, registers, and bytes from each cache.

The estimate ranks schedules before anything is measured (it chooses the default one) and gives the
features from which the cost model learns the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from relay_tune.machine.coefficients import Coefficients
from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, innermost, unrolled_extents
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.load_count import BodyLoads, body_loads, load_count
from relay_tune.schedule.cost.register_use import operands_in_use, register_use, with_shuffles
from relay_tune.schedule.cost.terms import memory_cycles
from relay_tune.schedule.cost.tile_extents import (
    neighbours,
    tile_variants,
    tiled_axes,
    vector_axis,
    vector_count,
)
from relay_tune.schedule.intrinsics.cost import tile_cycles
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.lane_rows import store_cycles

REMEMBERED = 1 << 12
"""Estimates, and parts of them, that are kept: a search asks for the same ones again and again."""


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
        waste: computed points over needed points (vector tails count as full, and so do rows of an
            intrinsic's registers).
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

    def times(self, count: float) -> Estimate:
        """The estimate of running the nest so often."""
        if count == 1:
            return self
        return replace(
            self,
            cycles=self.cycles * count,
            compute_cycles=self.compute_cycles * count,
            memory_cycles=self.memory_cycles * count,
            tiles=round(self.tiles * count),
        )


@remembered(REMEMBERED)
def estimate(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> Estimate:
    """The estimate of a nest under a choice."""
    nest = analysis.nest
    compute, tiles, points = _all_tiles(analysis, innermost(choice, choice.tile), machine)
    memory, exposed = memory_cycles(analysis, choice, machine)
    use = register_use(analysis, choice, machine)
    needed = max(prod(axis.extent for axis in nest.axes), 1)
    return Estimate(
        cycles=overlapped(compute, memory, machine) + exposed,
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


def compute_cycles(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> float:
    """The cycles of arithmetic alone, which no loops around the tiles make less."""
    return _all_tiles(analysis, innermost(choice, choice.tile), machine)[0]


@remembered(REMEMBERED)
def _all_tiles(
    analysis: NestAnalysis, choice: TileChoice, machine: Machine
) -> tuple[float, int, int]:
    """Cycles of arithmetic, tiles, and computed points; only what is `innermost` matters."""
    nest = analysis.nest
    compute, tiles, points = 0.0, 0, 0
    for count, extents in tile_variants(tiled_axes(nest, choice)):
        sizes = tuple(extents.values())
        tile = choice if sizes == choice.tile else innermost(choice, sizes)
        compute += count * _tile_cycles(analysis, tile, machine)
        tiles += count
        points += count * _computed_points(analysis, choice, extents)
    return compute, tiles, points


def overlapped(compute: float, memory: float, machine: Machine) -> float:
    """The cycles of arithmetic and of traffic that runs beside it."""
    return max(compute, memory) + machine.coefficients.overlap * min(compute, memory)


def _computed_points(analysis: NestAnalysis, choice: TileChoice, extents: dict[Axis, int]) -> int:
    """The points of a tile with all of its lanes, and all rows of an intrinsic's registers."""
    points = vector_count(analysis.nest, choice, extents) * choice.lanes
    match = analysis.match
    if match is None:
        return points
    rows = extents[match.row]
    return points // rows * match.computed_rows(rows)


@remembered(REMEMBERED)
def _tile_cycles(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> float:
    """The cycles of one tile; of the choice only what is `innermost` matters."""
    nest, known = analysis.nest, machine.coefficients
    extents = dict(tiled_axes(nest, choice))
    steps = prod(axis.extent for axis in nest.reduction)
    vectors = vector_count(nest, choice, extents)
    results = _lane_results(nest, choice, extents) if choice.vector == -2 else vectors
    stored = results * _stores(analysis, choice, extents)
    epilogue = (
        analysis.result_operations * results / machine.vectors.fused_per_cycle
        + load_count(analysis.result_accesses, nest, choice, extents)
        / machine.vectors.loads_per_cycle
        + stored
    )
    if nest.body is None:
        return epilogue + known.plain_tile
    if choice.vector == -2:
        steps = -(-steps // (choice.lanes * choice.unroll))
        epilogue += results * _lane_reduction_cycles(analysis, choice, extents, machine)
    if analysis.match is not None:
        return tile_cycles(analysis.match, extents, machine, epilogue / max(results, 1))
    body = body_loads(analysis, choice, known.shared_loads)
    loaded = body.shared / body.together * (choice.unroll if choice.vector == -2 else 1)
    operands, reloaded, spilled = operands_in_use(body, vectors, machine)
    loaded += reloaded
    spilled += max(0, vectors * analysis.near.siblings + operands - machine.vectors.registers)
    arithmetic = vectors * analysis.body_operations / machine.vectors.fused_per_cycle
    if body.shuffled:
        arithmetic = with_shuffles(arithmetic, body, vectors, machine)
    step = max(arithmetic, loaded / machine.vectors.loads_per_cycle, machine.vectors.latency)
    step += known.load * loaded
    if _spreads_windows(analysis, choice, known.most_taps):
        step *= known.spread_window
    looped = known.loop_step * _overhead(choice, body, known)
    return known.tile + epilogue + steps * (step + looped + known.spill * spilled)


def _overhead(choice: TileChoice, body: BodyLoads, known: Coefficients) -> float:
    """How many iterations of a loop a step is.

    Writing out steps that pick elements out of the same vectors saves none: holding these vectors
    takes registers. With 3 to 64 channels, 7x7 taps, a stride of 2, tiles of 13x2 vectors: single
    steps 990 us, eight written out 1190.
    """
    if choice.vector == -2:
        return known.lane_loop_share
    return 1.0 if body.strided else 1.0 / max(choice.unroll, 1)


def _rows_together(nest: Nest, choice: TileChoice, extents: Mapping[Axis, int]) -> int:
    """How many results of a tile are combined into one vector: those along its last axis."""
    rows = extents[nest.axes[-1]] if nest.axes else 1
    return rows if 1 < rows <= choice.lanes else 1


def _lane_results(nest: Nest, choice: TileChoice, extents: Mapping[Axis, int]) -> float:
    """The vectors that the results of such a tile are."""
    return prod(extents.values()) / _rows_together(nest, choice, extents)


def _lane_reduction_cycles(
    analysis: NestAnalysis, choice: TileChoice, extents: Mapping[Axis, int], machine: Machine
) -> float:
    """Combining lanes into one of these; next to another reduction nothing waits for that."""
    filled = 1 << (_rows_together(analysis.nest, choice, extents) - 1).bit_length()
    known = machine.coefficients
    waited = 0.0 if analysis.near.joined else known.lane_reduction
    return waited + known.lane_row * (filled - 1)


def _spreads_windows(analysis: NestAnalysis, choice: TileChoice, most_taps: int) -> bool:
    """Whether written-out steps of a window read elements that are spread over the lanes.

    Beside channels, steps along a row of taps are as fast as any others.
    """
    nest = analysis.nest
    if choice.unroll == 1 or choice.vector == -2 or len(nest.reduction) < 2:
        return False
    if any(axis.extent > most_taps for axis in nest.reduction):
        return False
    unrolled = unrolled_extents([nest.reduction[n] for n in choice.reduction_order], choice.unroll)
    window = [axis for axis, count in unrolled.items() if count > 1 and axis.extent <= most_taps]
    vector = vector_axis(nest, choice)
    return any(
        access.form is not None
        and not access.constant
        and vector not in access.form.terms
        and any(axis in access.form.terms for axis in window)
        for access in analysis.body_accesses
    )


def _stores(analysis: NestAnalysis, choice: TileChoice, extents: Mapping[Axis, int]) -> float:
    """Cycles in which one vector is stored."""
    vector, form = vector_axis(analysis.nest, choice), analysis.store_form
    if vector is None:
        return 1.0 if choice.vector == -2 else float(choice.lanes)
    if form is None or not form.terms.get(vector, 0):
        return float(choice.lanes)
    row = neighbours(form, vector, extents)
    return store_cycles(form.coefficient(vector), row, choice.lanes)
