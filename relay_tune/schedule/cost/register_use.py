"""What the innermost loop body of a choice takes: accumulators, operands, instructions."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from relay_tune.machine.machine import Machine
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, innermost
from relay_tune.schedule.cost.analysis import NestAnalysis
from relay_tune.schedule.cost.load_count import (
    BodyLoads,
    body_loads,
    load_count,
    tiled_axes,
    vector_count,
)
from relay_tune.schedule.intrinsics.match import IntrinsicMatch

REMEMBERED = 1 << 12

REMATERIALISED_LOADS = 12
"""How many shared values the compiler was seen to load again at no cost."""

LEAST_OPERANDS = 4
"""Registers that a window's step needs beside its accumulators; values beyond are loaded again."""

IN_FLIGHT = 2
"""Registers of loads that compiled code has under way where windows keep values.

Counted in the code of a 3x3 window with 16 results, of which 13 to 14 registers were left instead
of 15: tiles of 8x2 points 12 accesses for spilled values, 4x4 24 to 29, 4x2 with two vectors 48.
With 14 results there were none.
"""

RELOADS = 2.0
"""Accesses to memory for a shared value that finds no register: written once, read once more."""


EXPOSED_RELOADS = 0.2
"""How many of these a window's own values cost beyond that: arithmetic hides most."""


EXPOSED_SHUFFLES = 0.4
"""The same where vectors are put together from elements that lie apart.

Measured with 3 to 32 channels, a stride of 2, channels first: tiles of 8x3 vectors, all taps of a
channel written out, 48 accesses to the stack and 137 us; three taps at a time none, and 102 us.
"""


SHUFFLED_STEP, MISSING_REGISTER = 1.6, 0.015
"""How much longer a step with shuffles takes than its instructions, and by each missing register.

Measured with 3x3 convolutions in groups of 2, 4 and 8 channels, 40 to 70 schedules of each of five.
"""


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
    return _innermost_use(analysis, innermost(choice, choice.tile), machine)


@remembered(REMEMBERED)
def _innermost_use(analysis: NestAnalysis, choice: TileChoice, machine: Machine) -> RegisterUse:
    nest = analysis.nest
    if analysis.match is not None:
        return _tile_use(analysis.match, choice, machine)
    full = dict(tiled_axes(nest, choice))
    written = vector_count(nest, choice, full)
    held = accumulators(analysis, choice)
    body = body_loads(analysis, choice)
    in_use, _, _ = operands_in_use(body, written, machine)
    innermost = analysis.result_operations if nest.body is None else analysis.body_operations
    operations = max(written * innermost, 1.0)
    loaded = sum(body.counts) or load_count(analysis.result_accesses, nest, choice, full)
    code = int((operations + loaded) * max(choice.unroll, 1))
    wanted = held + (int(body.values) if body.slides else in_use) + 1
    return RegisterUse(held, held + in_use + 1, wanted, code, loaded / operations)


def _tile_use(match: IntrinsicMatch, choice: TileChoice, machine: Machine) -> RegisterUse:
    """The same of a tile on an intrinsic."""
    rows, blocks = match.tile_registers(choice)
    costs = match.costs(machine)
    held, in_use = rows * blocks, match.registers(rows, blocks)
    code = 0 if costs is None else costs.code * held
    loaded = match.operand_loads(rows, blocks) / (held * len(match.terms))
    return RegisterUse(held, in_use, in_use, code, loaded)


def accumulators(analysis: NestAnalysis, choice: TileChoice) -> int:
    """Registers that hold the points of a full tile, and of those that run in the same loops.

    Places written out are stored at once.
    """
    if analysis.match is not None:
        return prod(analysis.match.tile_registers(choice))
    extents = {
        axis: 1 if axis in analysis.written_out else extent
        for axis, extent in tiled_axes(analysis.nest, choice)
    }
    return vector_count(analysis.nest, choice, extents) * analysis.near.siblings


def operands_in_use(loaded: BodyLoads, vectors: int, machine: Machine) -> tuple[int, float, float]:
    """(registers of operands that stay live, loads for want of registers, spills) of a step.

    Live is the smallest reused set of a reduction step. Where written-out steps share loads (a
    sliding window), what they share stays live as far as there are registers; the rest costs loads,
    and of vectors that a row of the window shares spills. Where nothing but the window uses an
    element again, what its steps leave for each other stays live. Shuffled operands are charged
    otherwise (`relay_tune/schedule/cost/shuffled_operands.py`).
    """
    if not loaded.counts:
        return 2, 0.0, 0.0
    if not loaded.slides or loaded.shuffled:
        return int(min(min(loaded.held), 8)), 0.0, 0.0
    free = max(machine.vectors.registers - vectors - 1, LEAST_OPERANDS)
    if loaded.carried:
        free = max(free - IN_FLIGHT, LEAST_OPERANDS)
        again = max(max(values - free, 0.0) * times for values, times in loaded.carried)
        live = int(max(values for values, _ in loaded.carried))
        reloaded = RELOADS * again / loaded.together
        return min(live, free), reloaded, EXPOSED_RELOADS * reloaded
    if loaded.strided:
        kept = min(int(loaded.live), free)
        reloaded = RELOADS * (loaded.live - kept) / loaded.together
        return kept, reloaded, EXPOSED_SHUFFLES * reloaded
    live = max(min(loaded.together, 10), int(loaded.live) - REMATERIALISED_LOADS)
    kept = min(live, free)
    spilled = max(loaded.row - LEAST_OPERANDS - free, 0.0) / loaded.row_steps
    return kept, RELOADS * (live - kept) / loaded.together, spilled


def with_shuffles(arithmetic: float, loaded: BodyLoads, vectors: int, machine: Machine) -> float:
    """Cycles of a step whose arithmetic takes so many by itself, and that shuffles operands.

    Live are `vectors` of results, what the steps of a row share, and what they pick from.
    """
    shuffles = loaded.shuffled / loaded.together
    missing = vectors + max(loaded.row, 1.0) + loaded.sources + 1 - machine.vectors.registers
    longer = SHUFFLED_STEP * (1 + MISSING_REGISTER * max(missing, 0.0))
    return longer * max(arithmetic + shuffles / machine.vectors.fused_per_cycle, shuffles)
