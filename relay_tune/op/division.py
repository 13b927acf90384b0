"""Quotients and remainders of two tensors that broadcast, in each rounding.

Integers divided by zero give zero, quotient and remainder alike.
"""

from __future__ import annotations

import numpy as np

from relay_tune.op.another_name import another_name
from relay_tune.op.arithmetic import binary_operator
from relay_tune.op.elements import Array, in_wide
from relay_tune.tensor.expression import Scalar, binary
from relay_tune.tensor.scalar_semantics import (
    floored_quotient,
    floored_remainder,
    is_float,
    truncated_quotient,
)


def _divide(a: Scalar, b: Scalar) -> Scalar:
    return a / b if is_float(a.dtype) else binary("truncdiv", a, b)


def _divide_reference(lhs: Array, rhs: Array) -> Array:
    if is_float(lhs.dtype.name):
        return np.asarray(np.true_divide(lhs, rhs))
    return truncated_quotient(lhs, rhs)


divide = binary_operator(
    "divide",
    _divide,
    _divide_reference,
    "lhs / rhs; integer quotients are rounded towards zero.",
)
floor_divide = binary_operator(
    "floor_divide",
    in_wide(lambda a, b: binary("floordiv", a, b)),
    floored_quotient,
    "lhs / rhs rounded down.",
)
trunc_divide = binary_operator(
    "trunc_divide",
    in_wide(lambda a, b: binary("truncdiv", a, b)),
    truncated_quotient,
    "lhs / rhs rounded towards zero.",
)
mod = binary_operator(
    "mod",
    in_wide(lambda a, b: binary("truncmod", a, b)),
    np.fmod,
    "The remainder of trunc_divide, which has the sign of lhs.",
)
floor_mod = binary_operator(
    "floor_mod",
    in_wide(lambda a, b: binary("floormod", a, b)),
    floored_remainder,
    "The remainder of floor_divide, which has the sign of rhs.",
)
trunc_mod = another_name(mod, "trunc_mod", mod.documentation)
