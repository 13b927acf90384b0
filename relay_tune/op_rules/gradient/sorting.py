"""Adjoints of sorted elements: each goes back to where its element came from.

Equal elements keep their order, so that it is always one of them.
"""

from __future__ import annotations

from relay_tune.ir.expr import Expr, TupleGetItem
from relay_tune.ir.types import TupleType
from relay_tune.op_rules.gradient.expressions import zeros_of
from relay_tune.op_rules.gradient.rule import (
    Adjoint,
    Differentiated,
    GradientRule,
    GradientRules,
)
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.typed import call, recall

INTEGERS = GradientRule(constant="positions are integers")


def _sort(known: Differentiated) -> tuple[Adjoint]:
    (data,) = known.call.arguments
    attributes = attributes_of(known.call)
    order = call(
        "argsort", data, axis=attributes.axis, is_ascend=attributes.is_ascend, dtype="int64"
    )
    return (_put_back(data, order, known.tensor, attributes.axis),)


def _put_back(data: Expr, order: Expr, adjoint: Expr, axis: int) -> Expr:
    return call("scatter_elements", zeros_of(data), order, adjoint, axis=axis)


def _topk(known: Differentiated) -> tuple[Adjoint, ...]:
    data = known.call.arguments[0]
    attributes = attributes_of(known.call)
    rest = (None,) * (len(known.call.arguments) - 1)
    adjoint = known.adjoint[0] if isinstance(known.adjoint, tuple) else known.adjoint
    if attributes.ret_type == "indices" or not isinstance(adjoint, Expr):
        return None, *rest
    if isinstance(known.result.type, TupleType):
        found = TupleGetItem(known.result, 1, type=known.result.type.fields[1])
        order: Expr = call("decisive", found)
    else:
        order = recall(known.call, known.call.arguments, ret_type="indices")
    return _put_back(data, order, adjoint, attributes.axis), *rest


RULES: GradientRules = {
    "argmax": INTEGERS,
    "argmin": INTEGERS,
    "argsort": INTEGERS,
    "sort": GradientRule(_sort),
    "topk": GradientRule(_topk),
    "dyn.topk": GradientRule(_topk),
    "unique": GradientRule(refused="how many elements it returns depends on their values"),
}
