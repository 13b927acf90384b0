"""How vectors of elements that lie apart are moved; what code is written and estimated by.

A few elements apart, lanes are picked out of whole vectors. Farther apart, rows of neighbours that
a tile wants are moved in pieces of 2^n elements, and transposed in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

MOST_SKIPPED = 4
"""Lanes that lie farther apart are not picked out of whole vectors."""


def pieces(count: int, most: int) -> Iterator[tuple[int, int]]:
    """(begin, size) of pieces of `count` elements: powers of two up to `most`, largest first."""
    begin, size = 0, most
    while begin < count:
        while size > count - begin:
            size //= 2
        yield begin, size
        begin += size


SHUFFLE_LOADS = 2.0
"""The cost of a shuffle in loads: processors do one a cycle, but two loads."""


def move_instructions(stride: int, row: int, lanes: int) -> float:
    """The average cost of loading or storing a vector of a tile, in loads.

    `stride` are the elements from lane to lane, `row` the neighbours of each lane in the tile.
    """
    if stride in (0, 1):
        return 1.0
    if 1 < stride <= MOST_SKIPPED:
        return stride + SHUFFLE_LOADS * (stride - 1)
    return sum(_turned(size, lanes) for _, size in pieces(row, lanes)) / row


def store_cycles(stride: int, row: int, lanes: int) -> float:
    """The cycles that storing one vector takes, on average over the vectors of a tile.

    Processors store once in a cycle, while they load twice; shuffles take as long for both.
    """
    if stride in (0, 1):
        return 1.0
    if 1 < stride <= MOST_SKIPPED:
        return stride + (stride - 1)
    return sum(_turned(size, lanes) + lanes for _, size in pieces(row, lanes)) / (2 * row)


def _turned(size: int, lanes: int) -> float:
    """Moving `size` vectors as rows of `size` neighbours each, of which several make a vector."""
    inserted = lanes - size if size > 1 else 0
    return lanes + inserted + SHUFFLE_LOADS * size * log2(size)
