"""Axes whose extents are known at run time only: what of a choice holds for them, and their tiles.

An open axis of n points runs in whole tiles and then, for what is left, in tiles of ever smaller
powers of two, so that every tile has a fixed shape:

    n = 29, tile 12:   12 12 4 1            n = 70, tile 32, lanes 16:   32 32, then 6 lanes of 16

Vectors that are not full work under a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from relay_tune.schedule.choice import TileChoice
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.size import is_symbolic


@dataclass(frozen=True, slots=True)
class EdgeTile:
    """A tile that runs where the last whole tile of an open axis has ended, or not at all.

    Attributes:
        base: the first element.
        extent: how many there are, perhaps only at run time (a vector under a mask).
        end: the tile runs if this is no more than the axis' extent.
    """

    base: int
    extent: int
    end: int


def open_choice(choice: TileChoice, axes: Sequence[Axis], reduction: Sequence[Axis]) -> TileChoice:
    """A choice that was made for example sizes, as it is applied to open axes."""
    opened = [place for place, axis in enumerate(axes) if is_symbolic(axis.extent)]
    if not opened and not any(is_symbolic(axis.extent) for axis in reduction):
        return choice
    tile, blocks = list(choice.tile), list(choice.blocks)
    for place in opened:
        blocks[place] = 1
        if place == choice.vector:
            tile[place] = max(choice.lanes, tile[place] // choice.lanes * choice.lanes)
    return replace(choice, tile=tuple(tile), blocks=tuple(blocks), prefetch=False)


def edge_tiles(extent: int, tile: int, lanes: int) -> Iterator[EdgeTile]:
    """The tiles behind the whole ones of an open axis; `lanes` is 1 but on the vector axis."""
    begin = extent // tile * tile
    rest = extent - begin
    part = lanes
    while part * 2 < tile:
        part *= 2
    while part >= lanes and part < tile:
        base = begin if part * 2 >= tile else begin + rest // (part * 2) * (part * 2)
        yield EdgeTile(base, part, base + part)
        part //= 2
    if lanes > 1:
        base = extent // lanes * lanes
        yield EdgeTile(base, extent - base, base + 1)
