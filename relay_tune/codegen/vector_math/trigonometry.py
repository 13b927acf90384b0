"""sin, cos, tan and their inverses in float64 arithmetic, for float32 values of any size.

The tables come from `benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

import math

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.vector_math.wide import ROUNDER
from relay_tune.quick_dataclass import dataclass

TWO_OVER_PI = (
    0.6366197690367699,
    3.3308114738561656e-09,
    2.276010047810136e-18,
    2.5268260189002822e-26,
    1.6682867657019525e-34,
    1.158871328288855e-43,
    7.053959174404295e-52,
)
"""2 / pi in parts of 28 bits, whose products with a float32 are exact in float64."""

SINE = (
    0.0001581951344731595,
    -0.004681260661596021,
    0.07969258184930073,
    -0.6459640961028669,
    1.5707963267877587,
)
COSINE = (
    -2.484600262402833e-05,
    0.0009191586210539245,
    -0.020863467316377435,
    0.25366950709198754,
    -1.2337005501182137,
    0.9999999999999345,
)
ATAN = (
    -0.0006979498851954142,
    0.0049263159264126485,
    -0.01629935257638198,
    0.03447574211814107,
    -0.05451585451717942,
    0.07259432125363255,
    -0.08985437084047673,
    0.1109450326714355,
    -0.14284167188275954,
    0.19999927241788687,
    -0.33333332133754645,
)


@dataclass(frozen=True, slots=True)
class _Quadrant:
    """Sine and cosine of the rest of a reduction by quarter turns, and whose bits say which."""

    sine: str
    cosine: str
    turns: str


def sin(a: Arithmetic, x: str) -> str:
    """The sine."""
    quadrant = _reduce(a, x)
    value = a.select(_has_bit(a, quadrant.turns, 1), quadrant.cosine, quadrant.sine)
    negative = a.writer.pure(f"fneg {a.type} {value}")
    result = a.select(_has_bit(a, quadrant.turns, 2), negative, value)
    return a.select(a.compare("oeq", x, a.number(0.0)), x, result)


def cos(a: Arithmetic, x: str) -> str:
    """The cosine: the sine a quarter turn on."""
    quadrant = _reduce(a, x)
    value = a.select(_has_bit(a, quadrant.turns, 1), quadrant.sine, quadrant.cosine)
    negative = a.writer.pure(f"fneg {a.type} {value}")
    words = a.of("int64")
    next_turn = words.binary("add", quadrant.turns, words.number(1))
    return a.select(_has_bit(a, next_turn, 2), negative, value)


def tan(a: Arithmetic, x: str) -> str:
    """The tangent."""
    quadrant = _reduce(a, x)
    is_odd = _has_bit(a, quadrant.turns, 1)
    above = a.select(is_odd, a.writer.pure(f"fneg {a.type} {quadrant.cosine}"), quadrant.sine)
    below = a.select(is_odd, quadrant.sine, quadrant.cosine)
    result = a.binary("fdiv", above, below)
    return a.select(a.compare("oeq", x, a.number(0.0)), x, result)


def _reduce(a: Arithmetic, x: str) -> _Quadrant:
    """Quarter turns: x 2 / pi = 4 k + n + r with n in -2 .. 2 and |r| at most 1/2.

    Each partial product is exact and is reduced modulo 4 without an error, so that this holds for
    every float32 (the idea of Payne and Hanek, "Radian reduction for trigonometric functions",
    1983, with floats in place of integers).
    """
    total = a.number(0.0)
    for part in TWO_OVER_PI:
        product = a.binary("fmul", x, a.number(part))
        whole = a.intrinsic("roundeven", a.binary("fmul", product, a.number(0.25)))
        rest = a.multiply_add(whole, a.number(-4.0), product)
        total = a.binary("fadd", total, rest)
    rounded = a.binary("fadd", total, a.number(ROUNDER))
    r = a.binary("fsub", total, a.binary("fsub", rounded, a.number(ROUNDER)))
    z = a.binary("fmul", r, r)
    sine = a.binary("fmul", r, a.polynomial(z, *SINE))
    return _Quadrant(sine, a.polynomial(z, *COSINE), a.convert("bitcast", rounded, "int64"))


def _has_bit(a: Arithmetic, turns: str, bit: int) -> str:
    words = a.of("int64")
    return words.compare("ne", words.binary("and", turns, words.number(bit)), words.number(0))


def atan(a: Arithmetic, x: str) -> str:
    """The inverse tangent: a polynomial up to 1, and pi / 2 - atan(1 / |x|) above."""
    magnitude = a.intrinsic("fabs", x)
    is_large = a.compare("ogt", magnitude, a.number(1.0))
    t = a.select(is_large, a.binary("fdiv", a.number(1.0), magnitude), magnitude)
    z = a.binary("fmul", t, t)
    small = a.multiply_add(a.binary("fmul", t, z), a.polynomial(z, *ATAN), t)
    large = a.binary("fsub", a.number(math.pi / 2), small)
    return a.intrinsic("copysign", a.select(is_large, large, small), x)


def asin(a: Arithmetic, x: str) -> str:
    """atan(x / sqrt(1 - x^2)); NaN beyond 1."""
    negative = a.writer.pure(f"fneg {a.type} {x}")
    root = a.intrinsic("sqrt", a.multiply_add(negative, x, a.number(1.0)))
    return atan(a, a.binary("fdiv", x, root))


def acos(a: Arithmetic, x: str) -> str:
    """2 atan(sqrt((1 - x) / (1 + x))), which is exact near 1 too; NaN beyond 1."""
    one = a.number(1.0)
    quotient = a.binary("fdiv", a.binary("fsub", one, x), a.binary("fadd", one, x))
    half = atan(a, a.intrinsic("sqrt", quotient))
    return a.binary("fmul", half, a.number(2.0))
