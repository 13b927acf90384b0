"""Sign, magnitude and rounding of elements, and what kind of float an element is."""

from __future__ import annotations

import numpy as np

from relay_tune.op.elements import Array
from relay_tune.op.unary import unary_operator
from relay_tune.tensor.expression import Scalar, binary, literal, unary
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.typing.relations.elementwise import predicate


def _rounding(operation: str, value: Scalar) -> Scalar:
    """Integers are round already."""
    return unary(operation, value) if is_float(value.dtype) else value


def _round_reference(data: Array) -> Array:
    return np.asarray(np.rint(data)) if is_float(data.dtype.name) else data


def _magnitude(value: Scalar) -> Scalar:
    return (
        value
        if value.dtype.startswith(("u", "b")) and value.dtype != "bfloat16"
        else unary("abs", value)
    )


def _is_nan(value: Scalar) -> Scalar:
    return unary("isnan", value) if is_float(value.dtype) else literal(False, "bool")


def _is_infinite(value: Scalar) -> Scalar:
    return unary("isinf", value) if is_float(value.dtype) else literal(False, "bool")


def _is_finite(value: Scalar) -> Scalar:
    """The difference of a number to itself is zero; of infinity and NaN it is NaN."""
    if not is_float(value.dtype):
        return literal(True, "bool")
    return binary("eq", value - value, 0.0)


negative = unary_operator("negative", lambda x: -x, np.negative, "-x; integers wrap around.")
abs = unary_operator("abs", _magnitude, np.abs, "The magnitude; the least integer stays.")
sign = unary_operator(
    "sign", lambda x: unary("sign", x), np.sign, "-1, 0 or 1 as the element; NaN stays NaN."
)
floor = unary_operator("floor", lambda x: _rounding("floor", x), np.floor, "Rounded down.")
ceil = unary_operator("ceil", lambda x: _rounding("ceil", x), np.ceil, "Rounded up.")
trunc = unary_operator("trunc", lambda x: _rounding("trunc", x), np.trunc, "Rounded towards zero.")
round = unary_operator(
    "round",
    lambda x: _rounding("round", x),
    _round_reference,
    "Rounded to the nearest; halves to even.",
)
isnan = unary_operator("isnan", _is_nan, np.isnan, "Whether it is not a number.", predicate)
isinf = unary_operator("isinf", _is_infinite, np.isinf, "Whether it is infinite.", predicate)
isfinite = unary_operator(
    "isfinite", _is_finite, np.isfinite, "Whether it is neither infinite nor NaN.", predicate
)
