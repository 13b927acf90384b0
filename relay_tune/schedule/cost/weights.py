"""What weights of a network cost, which come from memory in each of its runs.

What no schedule hides of that is charged by the plan, the rest here: what a nest waits for if
nothing asks for its weights early; what of the next panel comes too late, though it was asked for;
what large tiles cost where weights are walked back and forth; and long bodies of loops that stream
through them.
"""

from __future__ import annotations

from math import prod

from relay_tune.machine.machine import LINE_BYTES, Machine
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.operand import Operand
from relay_tune.schedule.cost.tile import (
    distinct_places,
    tile_variants,
    vector_count,
)
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.streamed import is_streamed


def _comes_unasked(operand: Operand) -> bool:
    """Whether a nest may wait for a constant whose transfer beside arithmetic is counted.

    Where no cache holds it and it is used too seldom for anything to hide that, its transfer from
    memory is all that the nest takes.
    """
    is_waited_for = not is_streamed(operand.uses) or not operand.is_far
    return not operand.is_fetched and is_waited_for


def unasked_transfer(operand: Operand) -> float:
    """The transfer of a constant for which nothing asks early."""
    return operand.waited if _comes_unasked(operand) else 0.0


def arrival(operand: Operand) -> float:
    """The time in which such a constant comes from memory."""
    return _from_memory(operand) if _comes_unasked(operand) else 0.0


def awaited_arrival(operand: Operand) -> float:
    """The same where it is used so often that a call does not stream through it."""
    return 0.0 if is_streamed(operand.uses) else arrival(operand)


def _from_memory(operand: Operand) -> float:
    tile = operand.traffic.tile
    return operand.access.all_bytes / tile.machine.main.rate / tile.analysis.near.repeats


def late_cycles(operand: Operand) -> float:
    """Cycles that a nest waits for a constant which its tiles fetch panel by panel, once.

    Of 512 to 256 channels of 4x4 pixels, transposed (8.4 MB), one panel of 8 that comes unasked
    costs 90 us beside 380.

    Where the panel fits, all tiles that read it but the first find it in the first cache.

    Each tile that reads a panel asks for an equal part of the next one (see `loops.prefetch`).
    While it computes, that part comes from memory; but what the tile itself reads of its panel from
    the second cache takes the same way, and delays it. A tile at the edge has less time for the
    same part. Decision 36 has measurements.
    """
    traffic = operand.traffic
    analysis, machine = traffic.tile.analysis, traffic.machine
    if not operand.is_fetched:
        return 0.0
    costs = None if analysis.match is None else analysis.match.costs(machine)
    if costs is not None:
        return costs.unfetched * _from_memory(operand)
    return _late_panels(operand) / analysis.near.repeats


def _late_panels(operand: Operand) -> float:
    traffic, access = operand.traffic, operand.access
    analysis, choice, machine = traffic.tile.analysis, traffic.choice, traffic.machine
    nest, form = analysis.nest, access.form
    if form is None:
        return 0.0
    steps, tiles = prod(traffic.tile.steps.values()), traffic.tile.extents.items()
    panels = tile_variants((axis, n) for axis, n in tiles if form.coefficient(axis))
    readers = tile_variants((axis, n) for axis, n in tiles if not form.coefficient(axis))
    sharing = sum(count for count, _ in readers)
    part = access.bytes * steps * prod(panels[0][1].values()) / sharing
    arrival = part / machine.main.rate
    waited = _burst_cycles(part / LINE_BYTES, -(-steps // max(choice.unroll, 1)), machine)
    late = 0.0
    for count, panel in panels:
        size = access.bytes * steps * prod(panel.values())
        reading = machine.coefficients.delayed_panels * size / machine.memories[1].rate
        far = 1 if size <= machine.memories[0].bytes else sharing
        for times, reader in readers:
            points = vector_count(nest, choice, {**panel, **reader})
            time = points * steps * analysis.body_operations / machine.vectors.fused_per_cycle
            first = min(far, times)
            far -= first
            late += count * first * max(arrival - max(time - reading, 0.0), 0.0)
            late += count * (times - first) * max(arrival - time, 0.0)
        late += count * sharing * waited
    return late + _turns(nest, choice, form) * sharing * arrival


def _turns(nest: Nest, choice: TileChoice, form: Affine) -> int:
    """How often tiles go on with another panel than the next one in memory, which they asked for.

    Panels lie in the order of the axes. Blocks on one of them leave it, if other axes that panels
    depend on run between the blocks and their tiles.
    """
    around: list[OuterLoop] = []
    for loop in outer_loops(nest.axes, choice):
        if not form.coefficient(nest.axes[loop.place]) or loop.count == 1:
            continue
        positions = [other.place for other in around]
        if loop.place in positions and positions[-1] != loop.place:
            return prod(other.count for other in around)
        around.append(loop)
    return 0


def _burst_cycles(lines: float, groups: int, machine: Machine) -> float:
    """Cycles that a tile waits where each of its groups of steps asks for many lines at once."""
    known = machine.coefficients
    return groups * known.line_wait * max(lines / groups - known.lines_at_once, 0.0)


def swept_cycles(operand: Operand) -> float:
    """Cycles that a tile's size costs in each call.

    Weights that are used once or a few times in a call and outgrow the second cache are read in
    alternating directions, tile by tile (decision 16): what was read last is found in the cache.
    The tile that was read last is itself read from its beginning again, and pushes out that much.
    """
    machine = operand.traffic.machine
    near, far = (memory.rate for memory in machine.memories[1:3])
    kept = machine.coefficients.swept_caches * machine.memories[1].bytes
    if not is_streamed(operand.uses) or operand.access.all_bytes <= kept:
        return 0.0
    return operand.in_tile * max(1 / far - 1 / near, 0.0)


def unfollowed_cycles(operand: Operand) -> float:
    """Cycles in which weights come from the second cache that long strides keep from prefetchers.

    Prefetchers of the first cache follow each load instruction by itself: from one iteration to the
    next it moves on by all that the body reads. They follow strides up to about two kilobytes; near
    that, some processors fetch what is wanted much later and wait for what is wanted now.

    Decision 77 has measurements.
    """
    machine = operand.traffic.machine
    longest = machine.coefficients.longest_stride
    if not is_streamed(operand.uses) or _body_bytes(operand) <= longest:
        return 0.0
    return operand.access.all_bytes / machine.memories[1].rate


def _body_bytes(operand: Operand) -> float:
    """What the body of the innermost loop reads of packed weights; nothing of others."""
    tile, access = operand.traffic.tile, operand.access
    if tile.vector is None or access.form is None:
        return 0.0
    locations = distinct_places(access.form, tile.extents, tile.written_out, None, 1)
    return access.bytes * locations
