"""The error function in float32, without branches, tables or calls.

The tables come from `benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic

ERF_IS_ONE = 3.94
"""erf of this and everything above rounds to 1."""

MIDDLE = 0.3125
"""About the middle of erf(x) / x: only a part of the quotient's rounding errors reaches the sum."""

ERF_NUMERATOR = (
    -1.6975473e-05,
    -0.0001387659,
    -0.0015597993,
    0.029539991,
    0.0588981,
    1.4110602,
)
ERF_DENOMINATOR = (
    6.5577995e-05,
    0.0020199213,
    0.02598727,
    0.19786651,
    0.8694991,
    1.7294966,
)


def erf(a: Arithmetic, x: str) -> str:
    """x N(x^2) / D(x^2) + x MIDDLE, at most 1; x is cut off where that is reached."""
    x = a.at_least(a.at_most(x, ERF_IS_ONE), -ERF_IS_ONE)
    square = a.binary("fmul", x, x)
    numerator = a.polynomial(square, *ERF_NUMERATOR)
    quotient = a.binary("fdiv", numerator, a.polynomial(square, *ERF_DENOMINATOR))
    value = a.multiply_add(x, quotient, a.binary("fmul", x, a.number(MIDDLE)))
    return a.at_least(a.at_most(value, 1.0), -1.0)
