"""What a tiled nest costs, estimated: operations, loads, registers, and bytes from each cache.

The estimate ranks schedules before anything is measured (it chooses the default one) and gives the
features from which the cost model learns the rest.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from relay_tune.machine.coefficients import Coefficients
from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.conversions import own_sums, step_operations
from relay_tune.schedule.cost.load_count import BodyLoads, body_loads, load_count
from relay_tune.schedule.cost.register_use import (
    operands_in_use,
    register_use,
    with_shuffles,
    word_steps,
)
from relay_tune.schedule.cost.terms import memory_cycles
from relay_tune.schedule.cost.tile import Tile, neighbours, tile_of, tile_variants
from relay_tune.schedule.cost.traffic import traffic_of
from relay_tune.schedule.intrinsics.cost import tile_cycles
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
    tile = tile_of(analysis, choice, machine)
    compute, tiles, points = _all_tiles(tile)
    memory, exposed = memory_cycles(traffic_of(tile, choice))
    use = register_use(tile)
    needed = max(prod(axis.extent for axis in analysis.nest.axes), 1)
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


def compute_cycles(tile: Tile) -> float:
    """The cycles of arithmetic alone, which no loops around the tiles make less."""
    return _all_tiles(tile)[0]


def whole_tile_cycles(tile: Tile) -> float:
    """The same without the tiles at the edges."""
    return prod(axis.extent // n for axis, n in tile.extents.items()) * _tile_cycles(tile)


@remembered(REMEMBERED)
def _all_tiles(tile: Tile) -> tuple[float, int, int]:
    """Cycles of arithmetic, tiles, and computed points of all tiles, those at the edges too."""
    compute, tiles, points = 0.0, 0, 0
    for count, extents in tile_variants(tile.extents.items()):
        part = tile
        if extents != tile.extents:
            part = tile_of(tile.analysis, tile.choice, tile.machine, tuple(extents.values()))
        compute += count * _tile_cycles(part)
        tiles += count
        points += count * _computed_points(part)
    return compute, tiles, points


def overlapped(compute: float, memory: float, machine: Machine) -> float:
    """The cycles of arithmetic and of traffic that runs beside it."""
    return max(compute, memory) + machine.coefficients.overlap * min(compute, memory)


def _computed_points(tile: Tile) -> int:
    """The points of a tile with all of its lanes, and all rows of an intrinsic's registers."""
    points = tile.vectors * tile.choice.lanes
    match = tile.analysis.match
    if match is None:
        return points
    rows = tile.extents[match.row]
    return points // rows * match.computed_rows(rows)


@remembered(REMEMBERED)
def _tile_cycles(tile: Tile) -> float:
    """The cycles of one tile."""
    analysis, choice, vectors = tile.analysis, tile.choice, tile.vectors
    known, unit = tile.machine.coefficients, tile.machine.vectors
    by_lanes = choice.vector == -2
    results = prod(tile.extents.values()) / _rows_together(tile) if by_lanes else vectors
    stored = results * _stores(tile)
    loaded = load_count(analysis.result_accesses, tile)
    epilogue = (
        analysis.result_operations * results / unit.fused_per_cycle
        + loaded / unit.loads_per_cycle
        + stored
    )
    if analysis.nest.body is None:
        return epilogue + known.plain_tile
    steps = prod(tile.steps.values())
    if by_lanes:
        steps = -(-steps // (choice.lanes * choice.unroll))
        epilogue += results * _lane_reduction_cycles(tile)
    if analysis.match is not None:
        is_near = all(access.is_near for access in analysis.body_accesses)
        row = epilogue / max(results, 1)
        return tile_cycles(analysis.match, tile.extents, tile.machine, row, is_near)
    body = body_loads(tile)
    loaded = body.shared / body.together * (choice.unroll if by_lanes else 1)
    words = word_steps(tile)
    operands, reloaded, spilled = operands_in_use(body, vectors + words.registers, tile.machine)
    loaded += reloaded
    spilled += max(
        0, vectors * analysis.near.siblings + operands + words.registers - unit.registers
    )
    further = vectors * (words.instructions * known.word_instruction - 1)
    arithmetic = (step_operations(tile) + max(further, 0.0)) / unit.fused_per_cycle
    if body.shuffled:
        arithmetic = with_shuffles(arithmetic, body, vectors, tile.machine)
    latency = unit.latency / max(own_sums(tile), 1)
    step = max(arithmetic, loaded / unit.loads_per_cycle, latency)
    step += known.load * loaded
    if _spreads_windows(tile):
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


def _rows_together(tile: Tile) -> int:
    """How many results of a tile are combined into one vector: those along its last axis."""
    axes = tile.analysis.nest.axes
    rows = tile.extents[axes[-1]] if axes else 1
    return rows if 1 < rows <= tile.choice.lanes else 1


def _lane_reduction_cycles(tile: Tile) -> float:
    """Combining lanes into one of these; next to another reduction nothing waits for that."""
    filled = 1 << (_rows_together(tile) - 1).bit_length()
    known = tile.machine.coefficients
    waited = 0.0 if tile.analysis.near.joined else known.lane_reduction
    return waited + known.lane_row * (filled - 1)


def _spreads_windows(tile: Tile) -> bool:
    """Whether written-out steps of a window read elements that are spread over the lanes.

    Beside channels, steps along a row of taps are as fast as any others.
    """
    most_taps = tile.machine.coefficients.most_taps
    if tile.choice.unroll == 1 or tile.choice.vector == -2 or len(tile.steps) < 2:
        return False
    if tile.analysis.conversions:  # its axes are blocks of one
        return False
    if any(extent > most_taps for extent in tile.steps.values()):
        return False
    window = [axis for axis, count in tile.written_out.items() if count > 1]
    return any(
        access.form is not None
        and not access.constant
        and tile.vector not in access.form.terms
        and any(axis in access.form.terms for axis in window)
        for access in tile.analysis.body_accesses
    )


def _stores(tile: Tile) -> float:
    """Cycles in which one vector is stored."""
    vector, form, lanes = tile.vector, tile.analysis.store_form, tile.choice.lanes
    if vector is None:
        return 1.0 if tile.choice.vector == -2 else float(lanes)
    if form is None or not form.terms.get(vector, 0):
        return float(lanes)
    row = neighbours(form, vector, tile.extents)
    return store_cycles(form.coefficient(vector), row, lanes)
