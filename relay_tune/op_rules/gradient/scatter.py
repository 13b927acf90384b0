"""Adjoints of writes at positions that are data.

An element that is overwritten has no adjoint; of several updates of one element, the last one has.
"""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import number, zeros_of
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape
from relay_tune.op_rules.typed import call, constant_of, reshape


def _scatter_elements(known: Differentiated) -> tuple[Adjoint, ...] | None:
    data, indices, updates = known.call.arguments
    attributes = attributes_of(known.call)
    shape = static_shape(updates)
    if shape is None or static_shape(indices) != shape:
        return None
    read = call("gather", known.tensor, indices, axis=attributes.axis)
    if attributes.reduction == "add":
        return known.tensor, None, read
    if attributes.reduction != "update":
        return None
    numbers = _numbers(shape)
    places = call("full_like", call("cast", data, dtype="int64"), _minus_one())
    written = call("scatter_elements", places, indices, numbers, axis=attributes.axis)
    stands = call("equal", call("gather", written, indices, axis=attributes.axis), numbers)
    rest = call("scatter_elements", known.tensor, indices, zeros_of(updates), axis=attributes.axis)
    return rest, None, call("where", stands, read, number(0.0, read))


def _scatter_nd(known: Differentiated) -> tuple[Adjoint, ...] | None:
    data, indices, updates = known.call.arguments
    mode, shape = attributes_of(known.call).mode, static_shape(updates)
    if shape is None:
        return None
    read = call("gather_nd", known.tensor, indices)
    if mode == "add":
        return known.tensor, None, read
    if mode != "update":
        return None
    numbers = _numbers(shape)
    places = call("full_like", call("cast", data, dtype="int64"), _minus_one())
    written = call("scatter_nd", places, indices, numbers)
    stands = call("equal", call("gather_nd", written, indices), numbers)
    rest = call("scatter_nd", known.tensor, indices, zeros_of(updates))
    return rest, None, call("where", stands, read, number(0.0, read))


def _numbers(shape: tuple[int, ...]) -> Expr:
    """The number of each element of a tensor."""
    total = 1
    for size in shape:
        total *= size
    return reshape(call("arange", start=0, stop=total, step=1, dtype="int64"), shape)


def _minus_one() -> Expr:
    return constant_of(np.asarray(-1, dtype=np.int64))


RULES: GradientRules = {
    "scatter_elements": GradientRule(_scatter_elements),
    "scatter_nd": GradientRule(_scatter_nd),
}
