"""Adjoints of choices between elements, and of sorted ones: each goes back to where it came from.

Equal elements keep their order, so that it is always one of them.
"""

from __future__ import annotations

from relay_tune.ir.expr import Expr, TupleGetItem
from relay_tune.ir.types import TupleType
from relay_tune.op_rules.gradient.expressions import number, summed_to, zero_where, zeros_of
from relay_tune.op_rules.gradient.rule import (
    Adjoint,
    Differentiated,
    GradientRule,
    GradientRules,
)
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.typed import call, recall


def _where(known: Differentiated) -> tuple[Adjoint, ...]:
    condition, first, second = known.call.arguments
    chosen = call("where", condition, known.tensor, number(0.0, known.tensor))
    other = zero_where(condition, known.tensor)
    return None, summed_to(chosen, first), summed_to(other, second)


def _clip(known: Differentiated) -> tuple[Adjoint]:
    """The adjoint where the element is inside, its limits included."""
    (data,) = known.call.arguments
    limits = attributes_of(known.call)
    below = call("less", data, number(limits.a_min, data))
    above = call("greater", data, number(limits.a_max, data))
    return (zero_where(call("logical_or", below, above), known.tensor),)


def _trilu(known: Differentiated) -> tuple[Adjoint, None]:
    return recall(known.call, (known.tensor, known.call.arguments[1])), None


def _sequence_mask(known: Differentiated) -> tuple[Adjoint, None]:
    arguments = (known.tensor, known.call.arguments[1])
    return recall(known.call, arguments, mask_value=0.0), None


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
    "where": GradientRule(_where),
    "clip": GradientRule(_clip),
    "trilu": GradientRule(_trilu),
    "sequence_mask": GradientRule(_sequence_mask),
    "argmax": INTEGERS,
    "argmin": INTEGERS,
    "argsort": INTEGERS,
    "sort": GradientRule(_sort),
    "topk": GradientRule(_topk),
    "dyn.topk": GradientRule(_topk),
    "unique": GradientRule(refused="how many elements it returns depends on their values"),
}
