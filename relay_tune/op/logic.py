"""Logic on bool tensors, and bitwise operations and shifts on integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.op.arithmetic import binary_operator
from relay_tune.op.unary import unary_operator
from relay_tune.tensor.expression import Scalar, binary, cast, unary
from relay_tune.typing.relations.elementwise import broadcast_logical, predicate


def _logical_not(value: Scalar) -> Scalar:
    return unary("not", cast(value, "bool"))


def _not_reference(data: Any) -> Any:
    return np.logical_not(data)


logical_and = binary_operator(
    "logical_and",
    lambda a, b: binary("and", a, b),
    np.logical_and,
    "Whether both are true.",
    relation=broadcast_logical,
)
logical_or = binary_operator(
    "logical_or",
    lambda a, b: binary("or", a, b),
    np.logical_or,
    "Whether at least one is true.",
    relation=broadcast_logical,
)
logical_xor = binary_operator(
    "logical_xor",
    lambda a, b: binary("xor", a, b),
    np.logical_xor,
    "Whether exactly one is true.",
    relation=broadcast_logical,
)
logical_not = unary_operator(
    "logical_not", _logical_not, _not_reference, "Whether it is false (zero).", predicate
)
bitwise_and = binary_operator(
    "bitwise_and", lambda a, b: binary("and", a, b), np.bitwise_and, "The bits set in both."
)
bitwise_or = binary_operator(
    "bitwise_or", lambda a, b: binary("or", a, b), np.bitwise_or, "The bits set in one or both."
)
bitwise_xor = binary_operator(
    "bitwise_xor", lambda a, b: binary("xor", a, b), np.bitwise_xor, "The bits set in just one."
)
bitwise_not = unary_operator(
    "bitwise_not", lambda a: unary("bitnot", a), np.bitwise_not, "All bits flipped."
)
left_shift = binary_operator(
    "left_shift",
    lambda a, b: binary("shl", a, b),
    np.left_shift,
    "The bits of lhs moved up by rhs places; all are lost where rhs is no bit position.",
)
right_shift = binary_operator(
    "right_shift",
    lambda a, b: binary("shr", a, b),
    np.right_shift,
    "The bits of lhs moved down by rhs places, filled with the sign bit of signed integers.",
)
