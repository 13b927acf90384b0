"""One value out of the lanes of a vector, or of several vectors at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.kernels.operations import binary_operation

STEPS: Mapping[str, str] = {"sum": "add", "prod": "mul", "max": "max", "fmax": "fmax", "min": "min"}
"""The binary operation of each reduction."""


def reduce_lanes(arithmetic: Arithmetic, operation: str, operand: str) -> str:
    """A logarithmic tree of shuffles; the last step leaves the result in lane 0.

    `arithmetic` is of the operand's type; its lanes are a power of two.
    """
    text = _within(arithmetic, operation, operand, arithmetic.lanes)
    return arithmetic.writer.pure(f"extractelement {arithmetic.type} {text}, i64 0")


def reduce_rows(arithmetic: Arithmetic, operation: str, rows: Sequence[str], lanes: int) -> str:
    """The same for vectors whose results are the lanes of a vector of `lanes`, a power of two.

    Two vectors of 8 lanes are added in one step, their halves beside each other, then the results
    of two such steps, and so on: 7 steps for 8 vectors, where each by itself takes 3.

        a0 .. a7 and b0 .. b7  ->  a0+a4 .. a3+a7  b0+b4 .. b3+b7

    There are as many rows as lanes at most, and no more than a row has lanes.
    """
    found = [*rows, *([rows[-1]] * (lanes - len(rows)))]
    width = arithmetic.lanes
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=True)
        found = [_halves(arithmetic, operation, left, right, width) for left, right in pairs]
        width //= 2
    text = _within(arithmetic, operation, found[0], width)
    return _shuffled(arithmetic, text, text, range(0, arithmetic.lanes, width))


def _halves(a: Arithmetic, operation: str, left: str, right: str, width: int) -> str:
    """The halves of all parts of `width` lanes combined, those of `left` first."""
    starts = range(0, 2 * a.lanes, width)
    first = [start + lane for start in starts for lane in range(width // 2)]
    second = [lane + width // 2 for lane in first]
    sides = (_shuffled(a, left, right, lanes) for lanes in (first, second))
    return binary_operation(a, STEPS[operation], *sides)


def _within(a: Arithmetic, operation: str, text: str, width: int) -> str:
    """Each part of `width` lanes combined, its result in its first lane."""
    while width > 1:
        half = width // 2
        order = [lane + half if lane % width < half else lane for lane in range(a.lanes)]
        moved = _shuffled(a, text, text, order)
        text = binary_operation(a, STEPS[operation], moved, text)
        width = half
    return text


def _shuffled(a: Arithmetic, left: str, right: str, lanes: Sequence[int]) -> str:
    order = ", ".join(f"i32 {lane}" for lane in lanes)
    return a.writer.pure(
        f"shufflevector {a.type} {left}, {a.type} {right}, <{len(lanes)} x i32> <{order}>"
    )
