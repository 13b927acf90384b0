"""Powers of float32 values in float64 arithmetic, with the special cases of C."""

from __future__ import annotations

import math

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.vector_math.wide import wide_exp, wide_log


def power(a: Arithmetic, x: str, y: str) -> str:
    """x^y = e^(y log |x|) with the sign of x for odd y; operands have the shape of `a`.

    The special cases are those of C (C17, F.10.4.4): 1^y and x^0 are 1 even for NaN, a negative
    number to a power that is not whole is NaN, (-1)^inf is 1.
    """
    wide = a.of("float64")
    base, exponent = a.convert("fpext", x, "float64"), a.convert("fpext", y, "float64")
    return wide.convert("fptrunc", _wide_power(wide, base, exponent), a.dtype)


def _wide_power(a: Arithmetic, x: str, y: str) -> str:
    zero, one, infinity = a.number(0.0), a.number(1.0), a.number(math.inf)
    magnitude = a.intrinsic("fabs", x)
    is_unit = a.compare("oeq", magnitude, one)
    product = a.binary("fmul", y, wide_log(a, magnitude))
    result = wide_exp(a, a.select(is_unit, zero, product))
    is_whole, is_odd = _whole_and_odd(a, y)
    result = a.select(is_odd, a.intrinsic("copysign", result, x), result)
    bools = a.of("bool")
    is_negative = bools.binary(
        "and", a.compare("olt", x, zero), a.compare("one", magnitude, infinity)
    )
    is_real = bools.binary("xor", is_whole, bools.number(True))
    result = a.select(bools.binary("and", is_negative, is_real), a.number(math.nan), result)
    is_one = bools.binary("or", a.compare("oeq", x, one), a.compare("oeq", y, zero))
    return a.select(is_one, one, result)


def _whole_and_odd(a: Arithmetic, y: str) -> tuple[str, str]:
    """Whether y is a whole number (infinities are) and whether it is an odd one."""
    half = a.binary("fmul", y, a.number(0.5))
    is_whole = a.compare("oeq", a.intrinsic("trunc", y), y)
    has_half = a.compare("one", a.intrinsic("trunc", half), half)
    return is_whole, a.of("bool").binary("and", is_whole, has_half)
