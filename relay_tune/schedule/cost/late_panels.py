"""What of the next panel of weights comes too late, though it was asked for.

Each tile that reads a panel asks for an equal part of the next one (see `loops.prefetch`). While it
computes, that part comes from memory; but what the tile itself reads of its panel from the second
cache takes the same way, and delays it. A tile at the edge has less time for the same part.

Measured with products of Winograd's filtering, one core of a server with Zen 5, weights from the
third cache and from memory, microseconds. 36 products of 16 x 256 by 256 x 256 (9.4 MB), tiles of
8x32: 350 and 360, 16x16: 377 and 388, 10x32 (10 and 6 rows): 349 and 384, 6x64 (6, 6 and 4 rows):
352 and 467, 4x64: 366 and 478, 12x32 (12 and 4 rows): 364 and 500. 16 products of 16 x 512 by
512 x 512 (16.8 MB), 8x32: 615 and 620, 6x64: 634 and 743, 12x32: 705 and 870.
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


def late_cycles(
    analysis: NestAnalysis, choice: TileChoice, access: Access, machine: Machine
) -> float:
    """Cycles that a nest waits for a constant which its tiles fetch panel by panel, once.

    Of 512 to 256 channels of 4x4 pixels, transposed (8.4 MB), one panel of 8 that comes unasked
    costs 90 us beside 380.

    Where the panel fits, all tiles that read it but the first find it in the first cache.
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
