"""Quotients and remainders of indices that are not negative, in few instructions.

A parallel loop finds the numbers of the loops that it fuses by division, once for each tile. An
index that is at least 0 needs no correction toward minus infinity, and one that fits 32 bits is
divided by a constant with one multiplication and one shift.
"""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import INDEX, Binary, Literal, Scalar
from relay_tune.tensor.size import is_symbolic

NARROW = 1 << 31
UNSIGNED = {"floordiv": "udiv", "floormod": "urem"}

Range = tuple[int, int]
RangeOf = Callable[[object], Range]


def positive_divisor(node: Binary) -> int | None:
    """The number by which a quotient or remainder of indices divides, if it is positive."""
    if node.operation not in UNSIGNED or not isinstance(node.right, Literal):
        return None
    divisor = node.right.value
    if not isinstance(divisor, int) or is_symbolic(divisor):
        return None
    return divisor if divisor > 0 else None


def index_range(
    index: Scalar, affine: Callable[[Scalar], Affine | None], extent: RangeOf
) -> Range | None:
    """The least and the greatest value of an index; None where they are no known numbers.

    `affine` gives the form of an index over variables, `extent` the range of a variable.
    """
    form = affine(index)
    if form is not None:
        low, high = form.bounds(extent)
        return None if is_symbolic(low) or is_symbolic(high) else (low, high)
    divisor = positive_divisor(index) if isinstance(index, Binary) else None
    if divisor is None:
        return None
    assert isinstance(index, Binary)
    if index.operation == "floormod":
        return 0, divisor - 1
    inside = index_range(index.left, affine, extent)
    return None if inside is None else (inside[0] // divisor, inside[1] // divisor)


def unsigned_quotient(
    scalars: Arithmetic, operation: str, left: str, greatest: int, divisor: int
) -> str:
    """The text of `left operation divisor`; `left` is at least 0 and at most `greatest`."""
    instruction = UNSIGNED[operation]
    if max(greatest, divisor) >= NARROW:
        return scalars.binary(instruction, left, scalars.number(divisor))
    short = scalars.of("int32")
    found = short.binary(
        instruction, scalars.convert("trunc", left, "int32"), short.number(divisor)
    )
    return short.convert("zext", found, INDEX)
