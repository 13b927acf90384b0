"""What a tiled nest reads and writes beyond L1: one description for all that it costs.

    for j_b in blocks of columns                touched: b[k, block]     a is read again in each
      for i_t in tiles of rows                           b[k, block]     b stays meanwhile
        for j_t in tiles of the block                    b[k, block]
          y[tile] = sum(k) a[i, k] * b[k, j]             b[k, tile]

Of each operand it says how many bytes a tile and each loop around it touch, how long the rows are
in which these lie, and whether anything asks for them early. A term of the estimate is a function
of it (`relay_tune/schedule/cost/terms.py`). What a tile touches is found once for all loops that
may stand around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.cost.fetched_operands import asks_for_next_part, fetched_ahead
from relay_tune.schedule.cost.tile import Tile, footprint
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.expression import Axis

REMEMBERED = 1 << 14


@dataclass(frozen=True, eq=False, slots=True)
class Traffic:
    """What a nest reads and writes under a choice.

    Attributes:
        tile: the tiles.
        choice: of the nest.
        machine: as full as its caches are (see `Tile.filled`).
        loops: the outer loops, the innermost first: an axis, and how often it runs.
        touched: the bytes of each operand in a tile, then inside of each loop.
        working_sets: the sums of these; what is fetched ahead is there twice.
        fetched: the operands that tiles ask for before they want them.
        in_parts: whether what the next part of a sum reads is asked for while one is computed; None
            where there are no such parts.
    """

    tile: Tile
    choice: TileChoice
    machine: Machine
    loops: Sequence[tuple[Axis, int]]
    touched: Sequence[Sequence[float]]
    working_sets: Sequence[float]
    fetched: tuple[Access, ...]
    in_parts: bool | None = None

    @property
    def reads_parts_once(self) -> bool:
        """Whether operands come from LLC or DRAM once: a part's stay in L2 until the next."""
        return self.in_parts is not None and max(self.choice.blocks) == 1

    def awaits(self, access: Access) -> bool:
        """Whether it is fetched panel by panel, so that what is late is known."""
        return self.tile.analysis.match is None and access in self.fetched


def traffic_of(tile: Tile, choice: TileChoice) -> Traffic:
    """The traffic of a nest whose choice has such tiles."""
    in_parts = asks_for_next_part(tile.analysis, choice)
    asks = choice.prefetch and not in_parts
    fetched = fetched_ahead(tile.analysis, choice, tile.machine) if asks else ()
    loops, touched = _touched_by_loops(tile, choice)
    times = [2 if access in fetched else 1 for access in tile.analysis.accesses]  # the next too
    working_sets = [sum(map(mul, each, times)) for each in touched]
    return Traffic(tile, choice, tile.filled, loops, touched, working_sets, fetched, in_parts)


def _touched_by_loops(
    tile: Tile, choice: TileChoice
) -> tuple[list[tuple[Axis, int]], list[tuple[float, ...]]]:
    """The outer loops, the innermost first, and the bytes of operands in a tile and each loop."""
    axes, accesses = tile.analysis.nest.axes, tile.analysis.accesses
    inner, steps = dict(tile.extents), tuple(tile.steps.items())
    loops: list[tuple[Axis, int]] = []
    touched = [tile.touched]
    for loop in reversed(outer_loops(axes, choice)):
        axis = axes[loop.place]
        loops.append((axis, loop.count))
        if loop.count == 1:
            touched.append(touched[-1])
            continue
        inner[axis] = min(inner[axis] * loop.count, axis.extent)
        touched.append(
            tuple(
                [
                    footprint(access, inner, steps) if access.depends_on(axis) else known
                    for access, known in zip(accesses, touched[-1], strict=True)
                ]
            )
        )
    return loops, touched
