"""Numbers that are rounded to integers between two bounds, in fewer operations with the same bits.

    before:  uint8(min(max(round(y) + 3, 0), 255))
    after:   uint8(bits(min(fmax(M - 3, y + M), M + 252)) + 3)                      M = 3 * 2 ** 22

Floats around M are the integers, so that the addition rounds halves to even, and the low bits of
the sum are the integer in two's complement: no operation of its own rounds or converts. What is far
from M is rounded more coarsely, but stays outside of the bounds. (The trick of adding a large
number is folklore; D. Goldberg, "What Every Computer Scientist Should Know About Floating-Point
Arithmetic" (1991), theorem 14, splits numbers with it.)

Where such an integer becomes a float again, it is a difference of floats:

    before:  float32(int32(uint8(min(max(round(y) + 3, 0), 255))) - 3)
    after:   min(fmax(M - 3, y + M), M + 252) - M

The product of an integer and a scale is added to M in one instruction, where there is one: halves
are then those of the exact product, not of a product that was rounded before. All else is limited
before M is added, so that nothing is fused that was not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import (
    Binary,
    Cast,
    Literal,
    Scalar,
    Unary,
    binary,
    cast,
    literal,
    reinterpret,
)
from relay_tune.tensor.walk import operands, rebuild, sub_expressions

UNIT = 3.0 * 2.0**22
"""The float32 in the middle of those whose neighbours are one apart."""

UNIT_BITS = int(np.float32(UNIT).view(np.int32))

LARGEST = 2**21
"""A magnitude of integers up to which sums of two of them are near enough to `UNIT`."""

INTEGERS = frozenset({"int8", "uint8", "int16", "uint16", "int32"})


@dataclass(frozen=True, slots=True)
class Rounded:
    """An integer expression: `shifted` - UNIT + `offset`, modulo the numbers of its type.

    Attributes:
        shifted: a float32, an integer between UNIT + `low` and UNIT + `high`.
        low: the least number that is rounded to.
        high: the greatest one.
        offset: what is added to it.
    """

    shifted: Scalar
    low: int
    high: int
    offset: int

    def fits(self, dtype: str) -> bool:
        """Whether it is the number itself in an integer type."""
        limits = np.iinfo(dtype)
        return limits.min <= self.low + self.offset and self.high + self.offset <= limits.max

    def integer(self, dtype: str) -> Scalar:
        """It as an integer type."""
        bits = reinterpret(self.shifted, "int32")
        modulus = 1 << min(31, 8 * np.dtype(dtype).itemsize)
        offset = self.offset - UNIT_BITS
        if dtype != "int32":
            offset = (offset + modulus // 2) % modulus - modulus // 2
        return cast(bits + offset if offset else bits, dtype)

    def real(self) -> Scalar:
        """It as a float32, where it fits its type."""
        return self.shifted - (UNIT - self.offset)


def with_rounded_numbers(root: Scalar) -> Scalar:
    """`root` with the operations that its rounded numbers take."""
    nodes = sub_expressions(root)
    if not any(isinstance(node, Unary) and node.operation == "round" for node in nodes):
        return root
    done: dict[Scalar, Scalar] = {}
    known: dict[Scalar, Rounded] = {}
    for node in nodes:
        found = _rounded(node, done, known)
        if found is not None:
            known[node] = found
            done[node] = found.integer(node.dtype)
        elif isinstance(node, Cast) and _becomes_real(node, known):
            done[node] = known[node.operand].real()
        else:
            done[node] = rebuild(node, tuple(done[each] for each in operands(node)))
    return done[root]


def _becomes_real(node: Cast, known: dict[Scalar, Rounded]) -> bool:
    found = known.get(node.operand)
    return found is not None and node.dtype == "float32" and found.fits(node.operand.dtype)


def _rounded(
    node: Scalar, done: dict[Scalar, Scalar], known: dict[Scalar, Rounded]
) -> Rounded | None:
    """The rounded number that an integer node is, if it is one; `done` are new operands."""
    if node.dtype not in INTEGERS:
        return None
    match node:
        case Cast(operand=operand) if operand.dtype == "float32":
            return _limited(operand, node.dtype, done)
        case Cast(operand=operand) if operand in known:
            is_wider = np.dtype(node.dtype).itemsize > np.dtype(operand.dtype).itemsize
            return known[operand] if not is_wider or known[operand].fits(operand.dtype) else None
        case Binary(operation="add" | "sub" as sign, left=left, right=Literal(value=change)) if (
            left in known
        ):
            offset = known[left].offset + int(change) * (1 if sign == "add" else -1)
            return replace(known[left], offset=offset) if abs(offset) < LARGEST else None
    return None


def _limited(value: Scalar, dtype: str, done: dict[Scalar, Scalar]) -> Rounded | None:
    """min(max(round(y) + zero, 0), high): NaN becomes the lower bound, as it does in a cast."""
    upper = _with_number(value, "min")
    lower = None if upper is None else _with_number(upper[0], "max")
    if upper is None or lower is None or lower[1] != 0 or upper[1] > np.iinfo(dtype).max:
        return None
    inner, zero = lower[0], 0.0
    moved = _with_number(inner, "add")
    if moved is not None:
        inner, zero = moved
    if not isinstance(inner, Unary) or inner.operation != "round":
        return None
    high = upper[1]
    if not (zero.is_integer() and high.is_integer() and high >= 0 and abs(zero) + high < LARGEST):
        return None
    low, high = -int(zero), int(high - zero)
    return Rounded(_shifted(inner.operand, done, low, high), low, high, int(zero))


def _shifted(y: Scalar, done: dict[Scalar, Scalar], low: int, high: int) -> Scalar:
    """UNIT + y, rounded, between bounds."""
    new = done[y]
    if _is_product(y) and not _is_scaled_integer(y):
        return _between(new, low, high) + UNIT
    return _between(new + UNIT, UNIT + low, UNIT + high)


def _between(value: Scalar, low: float, high: float) -> Scalar:
    at_least = binary("fmax", literal(float(low), "float32"), value)
    return binary("min", at_least, float(high))


def _is_product(node: Scalar) -> bool:
    return isinstance(node, Binary) and node.operation == "mul"


def _is_scaled_integer(node: Scalar) -> bool:
    """Whether a product scales an integer."""
    return isinstance(node, Binary) and any(
        isinstance(side, Cast) and side.operand.dtype in INTEGERS
        for side in (node.left, node.right)
    )


def _with_number(node: Scalar, operation: str) -> tuple[Scalar, float] | None:
    """The other operand and the number of an operation with a literal on one side."""
    if not isinstance(node, Binary) or node.operation != operation:
        return None
    for inner, bound in ((node.left, node.right), (node.right, node.left)):
        if isinstance(bound, Literal):
            return inner, float(bound.value)
    return None
