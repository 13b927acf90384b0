"""Operands of the next of many parts of a product, asked for while the present one is computed.

    for part                                      for part
      for tiles                                     for tiles
        for groups of steps               ->          for groups of steps
          products of a[part], b[part]                  prefetch lines of a[part + 1], b[part + 1]
                                                        products of a[part], b[part]

All tiles of a part read its operands again, so that only the first ones wait for memory; all of
them have time to fetch for the next part. Where many lines are asked for at once, the products wait
for these. The gradient of 1x1 weights, 64 to 256 channels, 32 images of 56x56, reads 128 MB, one
core of Zen 5, ms: groups of 8 steps 17.4, with fetches 17.0; of 4 steps 16.8 and 14.5; of 2 steps
18.9 and 13.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from relay_tune.machine.machine import LINE_BYTES
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
from relay_tune.schedule.outer_loops import outer_loops
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

REMEMBERED = 1 << 8


@dataclass(frozen=True, slots=True)
class NextPart:
    """The operands of the next part, which move along the outermost loop."""

    rows: tuple[TouchedRows, ...]

    def fetches(self, site: Site) -> Iterator[Fetch]:
        """The share of a turn."""
        part, *tiles = site.tiles
        turns = Turns((*tiles, *site.groups))
        for rows in self.rows:
            terms = tuple((part, apart) for _, apart in rows.terms)
            yield from replace(rows, terms=terms).shares(turns)


def next_part(nest: Nest, choice: TileChoice) -> NextPart | None:
    """The fetches of a nest for its next part; None where it has none, or too little to do."""
    rows = part_rows(nest, choice) if choice.prefetch else ()
    if not rows:
        return None
    others = outer_loops(nest.axes, choice)[1:]
    order = [nest.reduction[place] for place in choice.reduction_order]
    steps = prod(axis.extent for axis in order) // unrolled_extents(order, choice.unroll)[order[-1]]
    turns = prod(loop.count for loop in others) * steps
    if sum(-(-each.all_lines // turns) for each in rows) > MOST_PART_LINES:
        return None
    return NextPart(rows)


def part_rows(nest: Nest, choice: TileChoice) -> tuple[TouchedRows, ...]:
    """Reads of the next step of the outermost loop; nothing where it is no loop over parts."""
    loops = outer_loops(nest.axes, choice)
    if not nest.reduction or choice.vector < 0 or not loops:
        return ()
    place = loops[0].place
    is_part = choice.tile[place] == 1 and loops[0].tiles == 1 and not is_symbolic(loops[0].count)
    return _part_rows(nest, place) if is_part else ()


@remembered(REMEMBERED)
def _part_rows(nest: Nest, place: int) -> tuple[TouchedRows, ...]:
    """Reads of the next step of an axis; nothing where that is not all elsewhere, or near."""
    axis = nest.axes[place]
    extents = [each.extent for each in (*nest.axes, *nest.reduction)]
    if nest.body is None or any(map(is_symbolic, extents)) or not prod(extents) or axis.extent < 2:
        return ()
    inside = replace(nest, axes=tuple(each for each in nest.axes if each is not axis))
    found: list[TouchedRows] = []
    for tensor in dict.fromkeys(load.tensor for load in loads(nest.body)):
        rows = touched_rows(tensor, inside, axis) if isinstance(tensor, FlatView) else None
        if rows is None:
            return ()
        found.append(rows)
    lines = sum(each.all_lines for each in found)
    has_time = lines * LINE_POINTS <= prod(extents) // axis.extent
    has_room = LEAST_FETCHED <= lines * LINE_BYTES <= MOST_PART_BYTES
    return tuple(found) if has_time and has_room and len(found) > 1 else ()
