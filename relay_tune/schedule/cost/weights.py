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
from relay_tune.schedule.cost.analysis import Access, NestAnalysis
from relay_tune.schedule.cost.load_count import tile_variants, tiled_axes, vector_count
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.streamed import is_streamed


def is_far(access: Access, machine: Machine) -> bool:
    """Whether no cache holds an operand."""
    return access.elements * access.bytes > machine.last_cache.bytes


def waiting_cycles(
    analysis: NestAnalysis,
    choice: TileChoice,
    access: Access,
    transfer: float,
    machine: Machine,
    *,
    is_fetched: bool,
) -> float:
    """Cycles that a nest waits for a constant, whose `transfer` beside arithmetic is counted.

    Where no cache holds it and it is used too seldom for anything to hide that, its transfer from
    memory is all that the nest takes.
    """
    known = machine.coefficients
    arrival = access.elements * access.bytes / machine.main.rate / analysis.near.repeats
    if is_fetched:
        costs = None if analysis.match is None else analysis.match.costs(machine)
        if costs is not None:
            late = costs.unfetched * arrival
        else:
            late = late_cycles(analysis, choice, access, machine) / analysis.near.repeats
        return known.prefetch * transfer + late
    points = prod(axis.extent for axis in (*analysis.nest.axes, *analysis.nest.reduction))
    streamed = is_streamed(points / access.elements)
    if streamed and is_far(access, machine):
        return 0.0
    share = known.unfetched_weights + (0.0 if streamed else known.awaited_weights)
    return known.exposed_weights * transfer + share * arrival


def late_cycles(
    analysis: NestAnalysis, choice: TileChoice, access: Access, machine: Machine
) -> float:
    """Cycles that a nest waits for a constant which its tiles fetch panel by panel, once.

    Of 512 to 256 channels of 4x4 pixels, transposed (8.4 MB), one panel of 8 that comes unasked
    costs 90 us beside 380.

    Where the panel fits, all tiles that read it but the first find it in the first cache.

    Each tile that reads a panel asks for an equal part of the next one (see `loops.prefetch`).
    While it computes, that part comes from memory; but what the tile itself reads of its panel from
    the second cache takes the same way, and delays it. A tile at the edge has less time for the
    same part.

    Measured with products of Winograd's filtering, one core of a server with Zen 5, weights from
    the third cache and from memory, microseconds. 36 products of 16 x 256 by 256 x 256 (9.4 MB),
    tiles of 8x32: 350 and 360, 16x16: 377 and 388, 10x32 (10 and 6 rows): 349 and 384, 6x64 (6, 6
    and 4 rows): 352 and 467, 4x64: 366 and 478, 12x32 (12 and 4 rows): 364 and 500. 16 products of
    16 x 512 by 512 x 512 (16.8 MB), 8x32: 615 and 620, 6x64: 634 and 743, 12x32: 705 and 870.
    """
    nest, form = analysis.nest, access.form
    if form is None:
        return 0.0
    steps = prod(axis.extent for axis in nest.reduction)
    tiles = tiled_axes(nest, choice)
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
        places = [other.place for other in around]
        if loop.place in places and places[-1] != loop.place:
            return prod(other.count for other in around)
        around.append(loop)
    return 0


def _burst_cycles(lines: float, groups: int, machine: Machine) -> float:
    """Cycles that a tile waits where each of its groups of steps asks for many lines at once."""
    known = machine.coefficients
    return groups * known.line_wait * max(lines / groups - known.lines_at_once, 0.0)


def swept_cycles(weights: float, in_tile: float, uses: float, machine: Machine) -> float:
    """Cycles that a tile's size costs in each call.

    Arguments: the bytes of all weights and of those of a tile, and how often each is used.

    Weights that are used once or a few times in a call and outgrow the second cache are read in
    alternating directions, tile by tile (decision 16): what was read last is found in the cache.
    The tile that was read last is itself read from its beginning again, and pushes out that much.

    Measured with a matrix of 3136x512 and a vector in a whole network, one core and two cores with
    2 MB of second cache each, microseconds of the network: tiles of 128 columns (1.6 MB) 323 and
    169, of 64 310 and 163, of 32 311 and 155, of 14 columns along their depth (0.2 MB) 296 and 153.
    """
    known = machine.coefficients
    near, far = (memory.rate for memory in machine.memories[1:3])
    if not is_streamed(uses) or weights <= known.swept_caches * machine.memories[1].bytes:
        return 0.0
    return known.swept_tile * in_tile * max(1 / far - 1 / near, 0.0)


def stride_cycles(weights: float, in_body: float, uses: float, machine: Machine) -> float:
    """Cycles that a body which reads so many bytes of the weights costs in each call.

    Arguments: the bytes of all weights and those that one body reads, and how often each is used.

    Prefetchers of the first cache follow each load instruction by itself: from one iteration to the
    next it moves on by all that the body reads. They follow strides up to about two kilobytes; near
    that, some processors fetch what is wanted much later and wait for what is wanted now.

    Measured with matrices of 256 KB in the second cache, a core of a server with Zen 5,
    microseconds: bodies that read 0.5, 1, 1.5 and 1.75 KB 1.5 to 1.7, bodies of 2, 3 and 4 KB 2.2
    to 2.3, whatever tile and unrolling they consist of. The same loop in C: 1.43 with 1 KB, 2.1
    with 2 and 4 KB.
    """
    known = machine.coefficients
    if not is_streamed(uses) or in_body <= known.longest_stride:
        return 0.0
    return known.unfollowed * weights / machine.memories[1].rate
