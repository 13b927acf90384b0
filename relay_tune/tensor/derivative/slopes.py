"""The derivatives of the scalar operations, as scalar expressions.

A rule takes a small change of an operand to the change of the result. Changes are linear, so that
the same rule serves forward mode (changes of operands are known) and reverse mode (the adjoint of
the result is known, that of the operand is wanted).

What is not listed is constant, but for jumps: rounding, signs, comparisons, bits. Floats of 16 bits
have changes of float32: adjoints are long sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from relay_tune.tensor.expression import Scalar, binary, cast, literal, select, unary

Slope = Callable[[Scalar, Scalar, Scalar], Scalar]
"""slope(change, operand, result) -> the change of the result."""

SideSlope = Callable[[Scalar, Scalar, Scalar, Scalar], Scalar]
"""slope(change, left, right, result) -> the change of the result, of one of two operands."""


def change_dtype(dtype: str) -> str:
    """The element type of changes of values of a type."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def widened(value: Scalar) -> Scalar:
    """A float in the type of its changes."""
    return cast(value, change_dtype(value.dtype))


def zero_of(value: Scalar) -> Scalar:
    """The number 0 of the type of a value."""
    return literal(0.0, value.dtype)


def _sine(x: Scalar) -> Scalar:
    return unary("sin", x)


def _power_base(change: Scalar, base: Scalar, exponent: Scalar, _: Scalar) -> Scalar:
    """y x^(y - 1), and 0 where y is 0, even at x = 0."""
    slope = exponent * binary("pow", base, exponent - 1.0)
    return select(binary("eq", exponent, 0.0), zero_of(change), change * slope)


def _power_exponent(change: Scalar, base: Scalar, _: Scalar, result: Scalar) -> Scalar:
    """x^y log(x), and 0 at x = 0, as its limit for y > 0 is."""
    slope = result * unary("log", base)
    return select(binary("eq", base, 0.0), zero_of(change), change * slope)


def _chosen(comparison: str, *, is_left: bool) -> SideSlope:
    """The change of one side of an extreme: the left one wins but where `left ~ right`."""

    def rule(change: Scalar, left: Scalar, right: Scalar, _: Scalar) -> Scalar:
        loses = binary(comparison, left, right)
        none = zero_of(change)
        return select(loses, none, change) if is_left else select(loses, change, none)

    return rule


UNARY_SLOPES: Mapping[str, Slope] = {
    "neg": lambda d, x, y: -d,
    "abs": lambda d, x, y: d * unary("sign", x),
    "exp": lambda d, x, y: d * y,
    "exp2": lambda d, x, y: d * y * math.log(2),
    "expm1": lambda d, x, y: d * (y + 1.0),
    "log": lambda d, x, y: d / x,
    "log2": lambda d, x, y: d / (x * math.log(2)),
    "log1p": lambda d, x, y: d / (x + 1.0),
    "sqrt": lambda d, x, y: d * 0.5 / y,
    "rsqrt": lambda d, x, y: d * -0.5 * y / x,
    "sigmoid": lambda d, x, y: d * (y * (1.0 - y)),
    "tanh": lambda d, x, y: d * (1.0 - y * y),
    "erf": lambda d, x, y: d * (unary("exp", -(x * x)) * (2 / math.sqrt(math.pi))),
    "sin": lambda d, x, y: d * unary("cos", x),
    "cos": lambda d, x, y: -(d * _sine(x)),
    "tan": lambda d, x, y: d * (y * y + 1.0),
    "asin": lambda d, x, y: d / unary("sqrt", 1.0 - x * x),
    "acos": lambda d, x, y: -(d / unary("sqrt", 1.0 - x * x)),
    "atan": lambda d, x, y: d / (x * x + 1.0),
    "sinh": lambda d, x, y: d * unary("cosh", x),
    "cosh": lambda d, x, y: d * unary("sinh", x),
    "asinh": lambda d, x, y: d / unary("sqrt", x * x + 1.0),
    "acosh": lambda d, x, y: d / unary("sqrt", (x - 1.0) * (x + 1.0)),
    "atanh": lambda d, x, y: d / (1.0 - x * x),
}

BINARY_SLOPES: Mapping[str, tuple[SideSlope | None, SideSlope | None]] = {
    "add": (lambda d, a, b, y: d, lambda d, a, b, y: d),
    "sub": (lambda d, a, b, y: d, lambda d, a, b, y: -d),
    "mul": (lambda d, a, b, y: d * b, lambda d, a, b, y: d * a),
    "div": (lambda d, a, b, y: d / b, lambda d, a, b, y: -(d * y / b)),
    "floormod": (
        lambda d, a, b, y: d,
        lambda d, a, b, y: -(d * binary("floordiv", a, b)),
    ),
    "truncmod": (
        lambda d, a, b, y: d,
        lambda d, a, b, y: -(d * binary("truncdiv", a, b)),
    ),
    "pow": (_power_base, _power_exponent),
    "max": (_chosen("lt", is_left=True), _chosen("lt", is_left=False)),
    "fmax": (_chosen("lt", is_left=True), _chosen("lt", is_left=False)),
    "min": (_chosen("gt", is_left=True), _chosen("gt", is_left=False)),
}
"""For the left and the right operand; None is constant."""
