"""Exponential and logarithm in float64 arithmetic, to about 1e-13.

They serve functions of float32 values that are too rare for polynomials of their own: computed in
float64, cancellation and the rounding of intermediate results do not matter. Arguments may have
the range of float32 and of what follows from it, not that of float64. The tables come from
`benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.vector_math.log import with_special_cases

LN2_HIGH = 0.6931471803691238
"""ln(2) to 32 bits, so that its product with an exponent is exact."""
LN2_LOW = 1.9082149292705877e-10

ROUNDER = 1.5 * 2.0**52
"""Adding this rounds to an integer, which then stands in the low bits."""
ROUNDER_BITS = 0x4338000000000000
TWO_THIRDS_BITS = 0x3FE5555555555555
EXP_LIMIT = 300.0
"""e^300 overflows float32, and e^-300 is 0 in it."""

EXPM1 = (
    2.7560519890391477e-06,
    2.487567800766511e-05,
    0.0001984135974831457,
    0.0013888822783324254,
    0.00833333324637462,
    0.04166666688339908,
    0.16666666666868868,
    0.4999999999981255,
)
ATANH = (
    0.17374894529410564,
    0.18071495377795752,
    0.22225193115575237,
    0.2857138832241346,
    0.40000000250098333,
    0.6666666666614977,
)


def in_float64(
    function: Callable[[Arithmetic, str], str],
) -> Callable[[Arithmetic, str], str]:
    """A function of float32 values from one that computes in float64."""

    def narrow(a: Arithmetic, x: str) -> str:
        wide = a.of("float64")
        return wide.convert("fptrunc", function(wide, a.convert("fpext", x, "float64")), a.dtype)

    return narrow


def wide_exp(a: Arithmetic, x: str) -> str:
    """e^x for |x| up to 300; beyond, e^300 or e^-300."""
    scale, q = _scaled_expm1(a, x)
    return a.multiply_add(scale, q, scale)


def wide_expm1(a: Arithmetic, x: str) -> str:
    """e^x - 1 for |x| up to 300, exact in relation to the result near 0."""
    scale, q = _scaled_expm1(a, x)
    return a.multiply_add(scale, q, a.binary("fsub", scale, a.number(1.0)))


def _scaled_expm1(a: Arithmetic, x: str) -> tuple[str, str]:
    """2^n and e^r - 1 with x = n ln 2 + r."""
    x = a.at_most(a.at_least(x, -EXP_LIMIT), EXP_LIMIT)
    rounded = a.multiply_add(x, a.number(1 / math.log(2)), a.number(ROUNDER))
    n = a.binary("fsub", rounded, a.number(ROUNDER))
    r = a.multiply_add(n, a.number(-LN2_HIGH), x)
    r = a.multiply_add(n, a.number(-LN2_LOW), r)
    q = a.multiply_add(a.binary("fmul", r, r), a.polynomial(r, *EXPM1), r)
    words = a.of("int64")
    biased = words.binary("add", a.convert("bitcast", rounded, "int64"), words.number(1023))
    scale = words.binary("shl", biased, words.number(52))
    return words.convert("bitcast", scale, "float64"), q


def wide_log(a: Arithmetic, x: str) -> str:
    """log(2^e m) = e ln 2 + 2 atanh((m - 1) / (m + 1)) with m in 2/3 .. 4/3, for normal x."""
    words = a.of("int64")
    bits = a.convert("bitcast", x, "int64")
    offset = words.binary("sub", bits, words.number(TWO_THIRDS_BITS))
    exponent_bits = words.binary("and", offset, words.number(-(1 << 52)))
    mantissa = words.convert("bitcast", words.binary("sub", bits, exponent_bits), "float64")
    exponent = _small_integer_to_float(words, words.binary("ashr", offset, words.number(52)))
    below = a.binary("fsub", mantissa, a.number(1.0))
    s = a.binary("fdiv", below, a.binary("fadd", mantissa, a.number(1.0)))
    z = a.binary("fmul", s, s)
    cubic = a.binary("fmul", a.binary("fmul", s, z), a.polynomial(z, *ATANH))
    near_one = a.multiply_add(s, a.number(2.0), cubic)
    return with_special_cases(a, x, a.multiply_add(exponent, a.number(math.log(2)), near_one))


def _small_integer_to_float(words: Arithmetic, number: str) -> str:
    """int64 to float64 for small numbers; many machines have no instruction for vectors of it."""
    shifted = words.binary("add", number, words.number(ROUNDER_BITS))
    a = words.of("float64")
    return a.binary("fsub", words.convert("bitcast", shifted, "float64"), a.number(ROUNDER))
