"""exp, sigmoid and tanh in float32, without branches, tables or calls.

The tables come from `benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

import math

from relay_tune.codegen.arithmetic import Arithmetic

LOG2_E = math.log2(math.e)
LN2_HIGH = 0.693145751953125
"""ln(2) to 16 bits, so that its product with an exponent is exact."""
LN2_LOW = 0.6931471805599453 - LN2_HIGH

BIASED_ROUNDER = 12582912.0 + 127.0
"""Adding 1.5 * 2^23 rounds to an integer; the 127 more make the low bits a biased exponent."""
HIGHEST_EXPONENT = 127.0
LOWEST_EXP = -88.0
"""exp of this and everything below is 0; the exponent is -127, whose scale has the bits of 0."""

EXP = (
    0.001593828,
    0.0083470065,
    0.041625734,
    0.1666673,
    0.5000019,
    1.0,
    1.0,
)

TANH_LIMIT = 15.0
"""tanh of this and everything above is computed as exactly 1."""
TANH = (
    0.044385843,
    0.13386324,
    0.3333395,
    0.6666618,
    0.99999994,
)


def exp(a: Arithmetic, x: str) -> str:
    """e^x = 2^n e^r with n = round(x / ln 2), at most 127: above, r grows and overflows to inf.

    Results below 2^-126.5 (8.3e-39) become 0.
    """
    x = a.at_least(x, LOWEST_EXP)
    biased = a.multiply_add(x, a.number(LOG2_E), a.number(BIASED_ROUNDER))
    biased = a.at_most(biased, BIASED_ROUNDER + HIGHEST_EXPONENT)
    n = a.binary("fsub", biased, a.number(BIASED_ROUNDER))
    r = a.multiply_add(n, a.number(-LN2_HIGH), x)
    r = a.multiply_add(n, a.number(-LN2_LOW), r)
    return a.binary("fmul", a.polynomial(r, *EXP), power_of_two(a, biased))


def power_of_two(a: Arithmetic, biased: str) -> str:
    """2^n: the low bits of the rounded number moved to the position of the exponent."""
    words = a.of("int32")
    bits = a.convert("bitcast", biased, "int32")
    return words.convert("bitcast", words.binary("shl", bits, words.number(23)), "float32")


def sigmoid(a: Arithmetic, x: str) -> str:
    """1 / (1 + e^-x)."""
    e = exp(a, a.writer.pure(f"fneg {a.type} {x}"))
    return a.binary("fdiv", a.number(1.0), a.binary("fadd", a.number(1.0), e))


def tanh(a: Arithmetic, x: str) -> str:
    """u / (u + 1) with u = (e^2|x| - 1) / 2, which is exact near 0, and the sign of x.

    With 2|x| = n ln 2 + 2 r this is 2^n (e^2r - 1) / 2 + (2^n - 1) / 2.
    """
    magnitude = a.at_most(a.intrinsic("fabs", x), TANH_LIMIT)
    biased = a.multiply_add(magnitude, a.number(2 * LOG2_E), a.number(BIASED_ROUNDER))
    n = a.binary("fsub", biased, a.number(BIASED_ROUNDER))
    r = a.multiply_add(n, a.number(-LN2_HIGH / 2), magnitude)
    r = a.multiply_add(n, a.number(-LN2_LOW / 2), r)
    near_zero = a.multiply_add(a.binary("fmul", r, r), a.polynomial(r, *TANH), r)
    scale = power_of_two(a, biased)
    rest = a.multiply_add(scale, a.number(0.5), a.number(-0.5))
    u = a.multiply_add(scale, near_zero, rest)
    quotient = a.binary("fdiv", u, a.binary("fadd", u, a.number(1.0)))
    return a.intrinsic("copysign", quotient, x)
