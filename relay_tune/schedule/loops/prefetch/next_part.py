"""Operands of the next of many parts of a product, asked for while the present one is computed.

    for part                                      for part
      for tiles                                     for tiles
        for groups of steps               ->          for groups of steps
          products of a[part], b[part]                  prefetch lines of a[part + 1], b[part + 1]
                                                        products of a[part], b[part]

All tiles of a part read its operands again, so that only the first ones wait for memory; all of
them have time to fetch for the next part: one operand after the other, where there are turns for
all lines. Where many lines are asked for at once, the products wait for these. The gradient of 1x1
weights, 64 to 256 channels, 32 images of 56x56, reads 128 MB, one core of Zen 5, ms: groups of 8
steps 17.4, with fetches 17.0; of 4 steps 16.8 and 14.5; of 2 steps 18.9 and 13.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.loops.prefetch.fetch import Fetch, Site, Turns
from relay_tune.schedule.loops.prefetch.limits import (
    LEAST_FETCHED,
    LINE_POINTS,
    MOST_PART_BYTES,
    MOST_PART_LINES,
)
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows, touched_rows
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.outer_loops import OuterLoop, outer_loops
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

REMEMBERED = 1 << 8


@dataclass(frozen=True, slots=True)
class NextPart:
    """The operands of the next part.

    Attributes:
        rows: what is read of them.
        outer: how many loops there are down to that over parts, which say where the parts lie.
    """

    rows: tuple[TouchedRows, ...]
    outer: int

    def fetches(self, site: Site) -> Iterator[Fetch]:
        """The share of a turn."""
        positions, tiles = site.tiles[: self.outer], site.tiles[self.outer :]
        turns = Turns((*tiles, *site.groups))
        in_line = sum(rows.all_lines for rows in self.rows) <= turns.count
        waiting = 0
        for rows in self.rows:
            steps = (apart for _, apart in rows.terms)
            terms = tuple(zip(positions, steps, strict=True))
            yield from replace(rows, terms=terms).shares(turns, waiting)
            waiting += rows.all_lines if in_line else 0


def next_part(nest: Nest, choice: TileChoice) -> NextPart | None:
    """The fetches of a nest for its next part; None where it has none, or too little to do."""
    rows = part_rows(nest, choice) if choice.prefetch else ()
    if not rows:
        return None
    outer = len(_part_loops(nest, choice))
    others = outer_loops(nest.axes, choice)[outer:]
    order = [nest.reduction[position] for position in choice.reduction_order]
    steps = prod(axis.extent for axis in order) // unrolled_extents(order, choice.unroll)[order[-1]]
    turns = prod(loop.count for loop in others) * steps
    if sum(-(-each.all_lines // turns) for each in rows) > MOST_PART_LINES:
        return None
    return NextPart(rows, outer)


def part_rows(nest: Nest, choice: TileChoice) -> tuple[TouchedRows, ...]:
    """Reads of the next step of a loop over parts; nothing where there is no such loop."""
    loops = _part_loops(nest, choice) if nest.reduction and choice.vector >= 0 else ()
    if not loops or any(
        choice.tile[loop.place] > 1 or loop.tiles > 1 or is_symbolic(loop.count) for loop in loops
    ):
        return ()
    return _part_rows(nest, tuple(loop.place for loop in loops))


def _part_loops(nest: Nest, choice: TileChoice) -> Sequence[OuterLoop]:
    """The outermost loops, down to that over parts: the first, or the last along carried parts."""
    loops = outer_loops(nest.axes, choice)
    carried = [n for n, loop in enumerate(loops, 1) if nest.axes[loop.place] in nest.carried]
    return loops[: max(carried, default=1)]


@remembered(REMEMBERED)
def _part_rows(nest: Nest, positions: tuple[int, ...]) -> tuple[TouchedRows, ...]:
    """Reads of the next step of an axis; nothing where that is not all elsewhere, or near."""
    parts = [nest.axes[position] for position in positions]
    extents = [each.extent for each in (*nest.axes, *nest.reduction)]
    if nest.body is None or any(map(is_symbolic, extents)) or not prod(extents):
        return ()
    if parts[-1].extent < 2:
        return ()
    inside = replace(nest, axes=tuple(each for each in nest.axes if each not in parts))
    found: list[TouchedRows] = []
    for tensor in dict.fromkeys(load.tensor for load in loads(nest.body)):
        rows = touched_rows(tensor, inside, parts) if isinstance(tensor, FlatView) else None
        if rows is None:
            return ()
        found.append(rows)
    lines = sum(each.all_lines for each in found)
    has_time = lines * LINE_POINTS <= prod(extents) // prod(axis.extent for axis in parts)
    has_room = LEAST_FETCHED <= lines * LINE_BYTES <= MOST_PART_BYTES
    return tuple(found) if has_time and has_room and len(found) > 1 else ()
