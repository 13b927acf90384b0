"""log and log2 in float32, without branches, tables or calls.

The table comes from `benchmarks/fit_vector_math.py`.
"""

from __future__ import annotations

import math

from relay_tune.codegen.arithmetic import Arithmetic

SMALLEST_NORMAL = 2.0**-126
DENORMAL_SCALE = 23
TWO_THIRDS_BITS = 0x3F2AAAAB

LOG = (
    -0.12879284,
    0.13985594,
    -0.12187454,
    0.14005543,
    -0.16680221,
    0.20010436,
    -0.24999805,
    0.33333215,
    -0.5,
)


def log(a: Arithmetic, x: str) -> str:
    """log(2^e (1 + f)) = e ln 2 + f + f^2 P(f) with 1 + f in 2/3 .. 4/3."""
    exponent, f = _split(a, x)
    result = a.multiply_add(exponent, a.number(math.log(2)), _log_near_one(a, f))
    return with_special_cases(a, x, result)


def log2(a: Arithmetic, x: str) -> str:
    """The logarithm to base 2; exact for powers of two."""
    exponent, f = _split(a, x)
    result = a.multiply_add(_log_near_one(a, f), a.number(1 / math.log(2)), exponent)
    return with_special_cases(a, x, result)


def with_special_cases(a: Arithmetic, x: str, result: str) -> str:
    """The result of a logarithm, or what holds at 0, infinity, NaN and below 0."""
    infinity = a.number(math.inf)
    result = a.select(a.compare("oeq", x, a.number(0.0)), a.number(-math.inf), result)
    result = a.select(a.compare("oeq", x, infinity), infinity, result)
    return a.select(a.compare("ult", x, a.number(0.0)), a.number(math.nan), result)


def _log_near_one(a: Arithmetic, f: str) -> str:
    return a.multiply_add(a.binary("fmul", f, f), a.polynomial(f, *LOG), f)


def _split(a: Arithmetic, x: str) -> tuple[str, str]:
    """The exponent e (as a float) and f with x = 2^e (1 + f), for denormals as well."""
    words = a.of("int32")
    is_small = a.compare("olt", x, a.number(SMALLEST_NORMAL))
    enlarged = a.binary("fmul", x, a.number(2.0**DENORMAL_SCALE))
    bits = a.convert("bitcast", a.select(is_small, enlarged, x), "int32")
    offset = words.binary("sub", bits, words.number(TWO_THIRDS_BITS))
    exponent_bits = words.binary("and", offset, words.number(-(1 << 23)))
    mantissa = words.convert("bitcast", words.binary("sub", bits, exponent_bits), "float32")
    exponent = words.binary("ashr", offset, words.number(23))
    correction = a.select(is_small, a.number(-DENORMAL_SCALE), a.number(0.0))
    exponent = a.binary("fadd", words.convert("sitofp", exponent, "float32"), correction)
    return exponent, a.binary("fsub", mantissa, a.number(1.0))
