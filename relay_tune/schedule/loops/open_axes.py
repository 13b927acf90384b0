"""Axes whose extents are known at run time only: what of a choice holds for them, and their tiles.

An open axis of n points runs in whole tiles and then, for what is left, in tiles of fixed shape:

    n = 29, tile 12:   12 12 5              n = 70, tile 32, lanes 16:   32 32, then 6 lanes of 16

Up to 7 points are one tile, for which there is code for each number, unless the axis is long
anyway or points share nothing; more than that are tiles of ever smaller powers of two before it.
Vectors that are not full work under a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.tensor.expression import Axis, Scalar, binary, index_value
from relay_tune.tensor.size import is_symbolic, surely_less

EXACT = 8
"""Fewer points than this get a tile of exactly their number: what they all read is read once."""

SMALL = 64
"""An axis that never has fewer points (rows of pixels, say) has no need of that."""


@dataclass(frozen=True, slots=True)
class EdgeTile:
    """A tile that runs where the last whole tile of an open axis has ended, or not at all.

    Attributes:
        base: the first element.
        extent: how many there are, perhaps only at run time (a vector under a mask).
        runs: whether it runs.
        registers: of an intrinsic, as many as hold its rows; 0 where these do not fill one.
    """

    base: int
    extent: int
    runs: Scalar
    registers: int = 0


def open_choice(choice: TileChoice, axes: Sequence[Axis], reduction: Sequence[Axis]) -> TileChoice:
    """A choice that was made for example sizes, as it is applied to open axes."""
    opened = [position for position, axis in enumerate(axes) if is_symbolic(axis.extent)]
    if not opened and not any(is_symbolic(axis.extent) for axis in reduction):
        return choice
    tile = list(choice.tile)
    for position in opened:
        if position == choice.vector:
            tile[position] = max(choice.lanes, tile[position] // choice.lanes * choice.lanes)
    return replace(choice, tile=tuple(tile))


def edge_tiles(extent: int, tile: int, lanes: int, *, shares: bool = True) -> Iterator[EdgeTile]:
    """The tiles behind the whole ones of an open axis; `lanes` is 1 but on the vector axis.

    `shares`: whether points read something together, as those of a sum do.
    """
    rest = extent % tile
    if rest == 0:
        return
    exact = EXACT if shares and _may_be_small(extent) else 1
    part = least = lanes if lanes > 1 else exact
    while part * 2 < tile:
        part *= 2
    while least <= part < tile:
        base = extent - rest if part * 2 >= tile else extent - rest % (part * 2)
        yield EdgeTile(base, part, binary("lt", index_value(base + (part - 1)), extent))
        part //= 2
    if lanes > 1:
        left = extent % lanes
        if left != 0:
            yield EdgeTile(extent - left, left, binary("lt", index_value(extent - left), extent))
        return
    left = rest % exact if tile > exact else rest
    for count in range(1, min(tile, exact)):
        yield EdgeTile(extent - left, count, binary("eq", index_value(left), count))


def register_tiles(extent: int, tile: int, rows: int) -> Iterator[EdgeTile]:
    """The tiles behind the whole ones of an open axis in registers of so many rows.

    As many registers as are needed, of which the last one ends with the axis: it begins with rows
    of the one before. Rows that do not fill a register are a part of one.
    """
    rest = extent % tile
    if rest == 0:
        return
    may_be_few = not surely_less(rows - 1, extent)
    needed = index_value((rest + (rows - 1)) // rows)
    for count in range(1, tile // rows + 1):
        runs = binary("eq", needed, count)
        if count == 1 and may_be_few:
            runs = binary("and", runs, binary("lt", index_value(rows - 1), extent))
        yield EdgeTile(extent - rest, rest, runs, count)
    if may_be_few:
        yield EdgeTile(0, extent, binary("lt", index_value(extent), rows))


def _may_be_small(extent: int) -> bool:
    """Whether an extent can have less than SMALL points, if its symbols are positive."""
    return not surely_less(SMALL - 1, extent)
