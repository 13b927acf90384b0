"""expm1, log1p and the hyperbolic functions but tanh, in float64 arithmetic for float32 values."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.vector_math.wide import wide_exp, wide_expm1, wide_log

TINY = 1e-4
"""Below this two terms of the series are enough, and 1 + x would lose too many bits of x."""


def expm1(a: Arithmetic, x: str) -> str:
    """e^x - 1."""
    return a.intrinsic("copysign", wide_expm1(a, x), x)


def log1p(a: Arithmetic, x: str) -> str:
    """log(1 + x)."""
    series = a.multiply_add(a.polynomial(x, 1 / 3, -0.5), a.binary("fmul", x, x), x)
    return _unless_tiny(a, x, series, wide_log(a, a.binary("fadd", x, a.number(1.0))))


def sinh(a: Arithmetic, x: str) -> str:
    """(e^x - e^-x) / 2 = (d + d / (d + 1)) / 2 with d = e^x - 1, which is exact near 0."""
    d = wide_expm1(a, a.intrinsic("fabs", x))
    quotient = a.binary("fdiv", d, a.binary("fadd", d, a.number(1.0)))
    half = a.binary("fmul", a.binary("fadd", d, quotient), a.number(0.5))
    return a.intrinsic("copysign", half, x)


def cosh(a: Arithmetic, x: str) -> str:
    """(e^x + e^-x) / 2."""
    e = wide_exp(a, x)
    total = a.binary("fadd", e, a.binary("fdiv", a.number(1.0), e))
    return a.binary("fmul", total, a.number(0.5))


def asinh(a: Arithmetic, x: str) -> str:
    """log(|x| + sqrt(x^2 + 1)) with the sign of x; x - x^3 / 6 near 0."""
    magnitude = a.intrinsic("fabs", x)
    root = a.intrinsic("sqrt", a.multiply_add(x, x, a.number(1.0)))
    logarithm = wide_log(a, a.binary("fadd", magnitude, root))
    result = _unless_tiny(a, x, _cubic(a, magnitude, -1 / 6), logarithm)
    return a.intrinsic("copysign", result, x)


def acosh(a: Arithmetic, x: str) -> str:
    """log(x + sqrt(x - 1) sqrt(x + 1)); NaN below 1."""
    below = a.intrinsic("sqrt", a.binary("fsub", x, a.number(1.0)))
    above = a.intrinsic("sqrt", a.binary("fadd", x, a.number(1.0)))
    return wide_log(a, a.multiply_add(below, above, x))


def atanh(a: Arithmetic, x: str) -> str:
    """log((1 + x) / (1 - x)) / 2; x + x^3 / 3 near 0."""
    one = a.number(1.0)
    quotient = a.binary("fdiv", a.binary("fadd", one, x), a.binary("fsub", one, x))
    half = a.binary("fmul", wide_log(a, quotient), a.number(0.5))
    return _unless_tiny(a, x, _cubic(a, x, 1 / 3), half)


def _cubic(a: Arithmetic, x: str, factor: float) -> str:
    """x + factor x^3."""
    cube = a.binary("fmul", x, a.binary("fmul", x, x))
    return a.multiply_add(cube, a.number(factor), x)


def _unless_tiny(a: Arithmetic, x: str, series: str, result: str) -> str:
    is_tiny = a.compare("olt", a.intrinsic("fabs", x), a.number(TINY))
    return a.select(is_tiny, series, result)
