"""The tiles of blocks by one number, where the last block has fewer tiles than the others.

7 tiles of rows in blocks of 3, 2 tiles of columns, rows innermost:

    number     0 1 2 3 4 5   6 7 8 9 10 11   12 13
    block      0             1               2
    columns    0 0 0 1 1 1   0 0 0 1 1  1    0  1
    row        0 1 2 0 1 2   3 4 5 3 4  5    6  6

No number stands for a tile that is not there, so each tile has the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay_tune.schedule.outer_loops import OuterLoop
from relay_tune.tensor.expression import Axis, Scalar, binary, index_value
from relay_tune.tensor.loops import Let, Statement
from relay_tune.tensor.size import ceiling_quotient


def are_counted(loops: Sequence[OuterLoop]) -> bool:
    """Whether all tiles can be numbered: blocks with a smaller last one are those of one axis."""
    ragged = [loop for loop in loops if loop.is_ragged]
    return not ragged or (loops[0].is_ragged and all(e.place == loops[0].place for e in ragged))


def tile_count(loops: Sequence[OuterLoop], axes: Sequence[Axis], tile: Sequence[int]) -> int:
    """How many tiles there are."""
    if not loops or not loops[0].is_ragged:
        return prod(loop.count for loop in loops)
    position = loops[0].place
    others = prod(loop.count for loop in loops if loop.place != position)
    return ceiling_quotient(axes[position].extent, tile[position]) * others


def numbered_in_blocks(
    loops: Sequence[OuterLoop],
    numbers: Sequence[Axis],
    tiles: int,
    number: Scalar,
    body: Statement,
) -> Statement:
    """`body` with the numbers of the loops that `number` stands for.

    The outermost loop is over blocks of an axis that has so many tiles.
    """
    in_block = loops[0].tiles
    whole = prod(loop.count for loop in loops[1:])  # tiles of a whole block, of all axes
    block, name = numbers[0], numbers[0].name
    here, rest = Axis(f"{name}_h", in_block + 1), Axis(f"{name}_r", whole)
    value: Scalar = rest
    for position, (loop, axis) in reversed(list(enumerate(zip(loops, numbers, strict=True)))[1:]):
        count = here if loop.is_ragged else index_value(loop.count)
        body = Let(axis, value if position == 1 else value % count, body)
        value = value // count
    body = Let(here, binary("min", index_value(tiles) - block * in_block, in_block), body)
    return Let(block, number // whole, Let(rest, number - block * whole, body))
