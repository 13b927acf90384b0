"""What the innermost loop body of a choice takes: accumulators, operands, instructions."""

from __future__ import annotations

from math import prod

from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.machine.pattern import JOINED, WordSteps
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.conversions import own_registers, step_operations
from relay_tune.schedule.cost.load_count import BodyLoads, body_loads, load_count
from relay_tune.schedule.cost.tile import Tile, vector_count
from relay_tune.schedule.intrinsics.match import IntrinsicMatch
from relay_tune.tensor.expression import Binary
from relay_tune.tensor.lane_rows import MOST_SKIPPED

REMEMBERED = 1 << 12


@dataclass(frozen=True, slots=True)
class RegisterUse:
    """What the innermost loop body of a choice takes; see the attributes of `Estimate`."""

    accumulators: int
    registers: int
    wanted: int
    code: int
    loads_per_operation: float


@remembered(REMEMBERED)
def register_use(tile: Tile) -> RegisterUse:
    """The part of the estimate that tells whether a choice can be fast at all."""
    analysis = tile.analysis
    if analysis.match is not None:
        return _tile_use(analysis.match, tile.choice, tile.machine)
    held = accumulators(tile)
    body = body_loads(tile)
    steps = word_steps(tile)
    in_use, _, _ = operands_in_use(body, tile.vectors + steps.registers, tile.machine)
    reduces = analysis.nest.body is not None
    own = step_operations(tile) if reduces else tile.vectors * analysis.result_operations
    operations = max(own, 1.0)
    loaded = sum(body.counts) or load_count(analysis.result_accesses, tile)
    written = operations + loaded + (steps.instructions - 1) * tile.vectors
    code = int(written * max(tile.choice.unroll, 1))
    most = int(body.values) if body.slides else in_use
    taken = held + 1 + steps.registers
    return RegisterUse(held, taken + in_use, taken + most, code, loaded / operations)


def word_steps(tile: Tile) -> WordSteps:
    """The instructions and registers of a step's dot product; of other bodies one multiply-add.

    An addition by itself takes a register for a product: with 16 registers there is none for tiles
    of 12 sums and four operands (4x24), which then wait for memory. On an AMD Zen 3 (VPMADDWD),
    128x768x3072 took 1.12 times as long with them as with 6x16.
    """
    body = tile.analysis.nest.body
    return tile.machine.steps_of(body.operation) if isinstance(body, Binary) else JOINED


def _tile_use(match: IntrinsicMatch, choice: TileChoice, machine: Machine) -> RegisterUse:
    """The same of a tile on an intrinsic."""
    rows, blocks = match.tile_registers(choice)
    costs = match.costs(machine)
    held, in_use = rows * blocks, match.registers(rows, blocks)
    code = 0 if costs is None else costs.code * held
    loaded = match.operand_loads(rows, blocks) / (held * len(match.terms))
    return RegisterUse(held, in_use, in_use, code, loaded)


def accumulators(tile: Tile) -> int:
    """Registers that hold the points of a full tile, and of those that run in the same loops.

    Positions written out are stored at once.
    """
    analysis = tile.analysis
    if analysis.match is not None:
        return prod(analysis.match.tile_registers(tile.choice))
    if _is_turned(tile):
        return -(-tile.vectors // (LINE_BYTES // tile.machine.vectors.bytes) ** 2)
    if not analysis.written_out:
        return tile.vectors * (analysis.near.siblings + own_registers(tile))
    extents = {a: 1 if a in analysis.written_out else n for a, n in tile.extents.items()}
    return vector_count(analysis.nest, tile.choice, extents) * analysis.near.siblings


def _is_turned(tile: Tile) -> bool:
    """Whether a tile of a copy is stored by rows that are transposed in registers.

    A piece of as many rows as a vector has lanes is stored before the next one is loaded: of 16 x
    16 elements in vectors of 8 lanes, which are whole lines of what is read and of what is stored,
    there are four pieces.
    """
    form = tile.analysis.store_form
    if tile.analysis.nest.body is not None or tile.vector is None or form is None:
        return False
    return form.coefficient(tile.vector) > MOST_SKIPPED


def operands_in_use(loaded: BodyLoads, vectors: int, machine: Machine) -> tuple[int, float, float]:
    """(registers of operands that stay live, loads for want of registers, spills) of a step.

    Live is the smallest reused set of a reduction step. Where written-out steps share loads (a
    sliding window), what they share stays live as far as there are registers; the rest costs loads,
    and of vectors that a row of the window shares spills. Where nothing but the window uses an
    element again, what its steps leave for each other stays live. Compilers keep shared words of
    dot products, and spill sums for them. Shuffled operands are charged otherwise
    (`relay_tune/schedule/cost/access.py`).
    """
    if not loaded.counts:
        return 2, 0.0, 0.0
    known = machine.coefficients
    if not loaded.slides or loaded.shuffled:
        held = min((each for each in loaded.held if each), default=1.0)
        return int(min(held, known.kept_operands)), 0.0, 0.0
    free = max(machine.vectors.registers - vectors - 1, known.least_operands)
    if loaded.carried:
        free = max(free - known.loads_in_flight, known.least_operands)
        again = max(max(values - free, 0.0) * times for values, times in loaded.carried)
        live = int(max(values for values, _ in loaded.carried))
        reloaded = known.reloads * again / loaded.together
        return min(live, free), reloaded, known.exposed_reloads * reloaded
    if loaded.strided:
        kept = min(int(loaded.live), free)
        reloaded = known.reloads * (loaded.live - kept) / loaded.together
        return kept, reloaded, known.exposed_shuffles * reloaded
    if loaded.in_registers:
        missing = max(loaded.live - free, 0.0) / loaded.together
        return min(int(loaded.live), free), known.reloads * missing, missing
    held = int(loaded.live) - known.rematerialised_loads
    live = max(min(loaded.together, known.window_operands), held)
    kept = min(live, free)
    spilled = max(loaded.row - known.least_operands - free, 0.0) / loaded.row_steps
    return kept, known.reloads * (live - kept) / loaded.together, spilled


def with_shuffles(arithmetic: float, loaded: BodyLoads, vectors: int, machine: Machine) -> float:
    """Cycles of a step whose arithmetic takes so many by itself, and that shuffles operands.

    Live are `vectors` of results, what the steps of a row share, and what they pick from.
    """
    shuffles = loaded.shuffled / loaded.together
    missing = vectors + max(loaded.row, 1.0) + loaded.sources + 1 - machine.vectors.registers
    known = machine.coefficients
    longer = known.shuffled_step * (1 + known.shuffled_register * max(missing, 0.0))
    return longer * max(arithmetic + shuffles / machine.vectors.fused_per_cycle, shuffles)
