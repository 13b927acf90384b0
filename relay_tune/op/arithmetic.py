"""Arithmetic of two tensors that broadcast: add, subtract, multiply, power, maximum, minimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.operator import FusionKind, Operator, Relation, define
from relay_tune.op.elements import Array, elementwise_computation
from relay_tune.tensor.expression import Scalar, binary
from relay_tune.tensor.scalar_semantics import power as numpy_power
from relay_tune.typing.relations.elementwise import broadcast as broadcast_relation


def binary_operator(
    name: str,
    element: Callable[[Scalar, Scalar], Scalar],
    reference: Callable[[Array, Array], Any],
    documentation: str,
    relation: Relation = broadcast_relation,
) -> Operator:
    """Register an operator of two tensors, one scalar expression for each element."""

    def meaning(attributes: Any, lhs: Array, rhs: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(reference(lhs, rhs))

    return define(
        name=name,
        arguments=("lhs", "rhs"),
        relation=relation,
        kind=FusionKind.BROADCAST,
        compute=elementwise_computation(name, element),
        reference=meaning,
        documentation=documentation,
    )


add = binary_operator(
    "add",
    lambda a, b: a + b,
    np.add,
    "lhs + rhs; integers wrap around.",
)
subtract = binary_operator(
    "subtract",
    lambda a, b: a - b,
    np.subtract,
    "lhs - rhs; integers wrap around.",
)
multiply = binary_operator(
    "multiply",
    lambda a, b: a * b,
    np.multiply,
    "lhs * rhs; integers wrap around.",
)
power = binary_operator(
    "power",
    lambda a, b: binary("pow", a, b),
    numpy_power,
    "lhs to the power of rhs; an integer to a negative power is rounded towards zero.",
)
maximum = binary_operator(
    "maximum",
    lambda a, b: binary("max", a, b),
    np.maximum,
    "The larger of lhs and rhs; NaN if one is NaN.",
)
minimum = binary_operator(
    "minimum",
    lambda a, b: binary("min", a, b),
    np.minimum,
    "The smaller of lhs and rhs; NaN if one is NaN.",
)
