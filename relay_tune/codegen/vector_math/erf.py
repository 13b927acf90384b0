"""The error function in float32, without branches, tables, calls or divisions.

The tables come from `benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic

SPLIT = 1.5
MIDDLE = 2.5
ERF_IS_ONE = 3.925
"""erf of this and everything above rounds to 1."""

ERF_SMALL = (
    -5.650717e-06,
    9.194555e-05,
    -0.0008043268,
    0.005172449,
    -0.02683693,
    0.11282963,
    -0.37612548,
    0.12837915,
)
ERF_LARGE = (
    4.313073e-05,
    -0.00021476166,
    0.00029401595,
    0.00049834105,
    -0.0028125474,
    0.006138873,
    -0.00861937,
    0.008346167,
    -0.0054461337,
    0.002178427,
    0.9995931,
)


def erf(a: Arithmetic, x: str) -> str:
    """x + x P(x^2) below 1.5 and Q(|x| - 2.5) with the sign of x above."""
    magnitude = a.intrinsic("fabs", x)
    small = a.multiply_add(x, a.polynomial(a.binary("fmul", x, x), *ERF_SMALL), x)
    large = _above_split(a, magnitude)
    is_small = a.compare("olt", magnitude, a.number(SPLIT))
    return a.select(is_small, small, a.intrinsic("copysign", large, x))


def _above_split(a: Arithmetic, magnitude: str) -> str:
    shifted = a.binary("fsub", magnitude, a.number(MIDDLE))
    large = a.at_most(a.polynomial(shifted, *ERF_LARGE), 1.0)
    is_one = a.compare("oge", magnitude, a.number(ERF_IS_ONE))
    return a.select(is_one, a.number(1.0), large)
