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
    """(begin, size) of pieces of `count` places: powers of two up to `most`, the largest first."""
    begin, size = 0, most
    while begin < count:
        while size > count - begin:
            size //= 2
        yield begin, size
        begin += size


def move_instructions(stride: int, row: int, lanes: int) -> float:
    """Instructions to load or store one vector, on average over the vectors of a tile.

    `stride` are the elements from lane to lane, `row` the neighbours of each lane in the tile.
    """
    if stride in (0, 1):
        return 1.0
    if 1 < stride <= MOST_SKIPPED:
        return 2.0 * stride - 1.0
    return sum(lanes + size * log2(size) for _, size in pieces(row, lanes)) / row
