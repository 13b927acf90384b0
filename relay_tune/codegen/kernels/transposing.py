"""Blocks of elements transposed between vector registers.

Lanes that lie apart in memory would be loaded and stored one by one. Where the neighbours in memory
are wanted too, whole rows are moved and turned over in registers:

    rows a0 a1 a2 a3      columns a0 b0 a4 b4, a1 b1 a5 b5, ..     2 rows: squares of 2 by 2
         b0 b1 b2 b3 ..

by exchanging the halves of ever larger squares, n log2(n) shuffles for n vectors (Eklundh, "A Fast
Computer Method for Matrix Transposing", IEEE Transactions on Computers, 1972).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from relay_tune.codegen.function_writer import FunctionWriter


def transposed(
    writer: FunctionWriter, element: str, lanes: int, vectors: Sequence[str]
) -> list[str]:
    """Vectors with the squares that they form transposed: lane g*n + i of r is lane g*n + r of i.

    There are n = 2^k <= `lanes` vectors of `lanes` elements each.
    """
    found = list(vectors)
    half = 1
    while half < len(found):
        for upper in range(len(found)):
            if not upper & half:
                pair = found[upper], found[upper + half]
                found[upper] = shuffled(writer, element, lanes, pair, _even(lanes, half))
                found[upper + half] = shuffled(writer, element, lanes, pair, _odd(lanes, half))
        half *= 2
    return found


@cache
def _even(lanes: int, half: int) -> tuple[int, ...]:
    return tuple(lanes + lane - half if lane & half else lane for lane in range(lanes))


@cache
def _odd(lanes: int, half: int) -> tuple[int, ...]:
    return tuple(lanes + lane if lane & half else lane + half for lane in range(lanes))


def shuffled(
    writer: FunctionWriter, element: str, lanes: int, pair: tuple[str, str], order: Sequence[int]
) -> str:
    """Lanes of two vectors of `lanes` elements in an order, the second vector's counted on."""
    kind = f"<{lanes} x {element}>"
    return writer.pure(
        f"shufflevector {kind} {pair[0]}, {kind} {pair[1]}, {_constant_order(tuple(order))}"
    )


@lru_cache(1024)
def _constant_order(order: tuple[int, ...]) -> str:
    """An order of lanes as an operand."""
    lanes = ", ".join(f"i32 {lane}" for lane in order)
    return f"<{len(order)} x i32> <{lanes}>"


def piece(
    writer: FunctionWriter, element: str, lanes: int, vector: str, begin: int, size: int
) -> str:
    """`size` lanes of a vector from `begin` on."""
    if size == lanes:
        return vector
    order = range(begin, begin + size)
    return shuffled(writer, element, lanes, (vector, "poison"), order)


def joined(writer: FunctionWriter, element: str, size: int, pieces: Sequence[str]) -> str:
    """Vectors of `size` elements behind each other in one; there are 2^k of them."""
    parts, width = list(pieces), size
    while len(parts) > 1:
        parts = [
            shuffled(writer, element, width, (parts[n], parts[n + 1]), range(2 * width))
            for n in range(0, len(parts), 2)
        ]
        width *= 2
    return parts[0]
