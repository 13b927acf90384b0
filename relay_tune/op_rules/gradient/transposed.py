"""Forward mode from rules that are written for reverse mode.

The adjoints of arguments are linear in that of the result, u -> J' u. The adjoint of that function
is v -> J v: how the result changes with the arguments. So a rule for one direction is one for both.

    multiply: adjoints u * y, u * x          changes v, w of x, y
    their adjoint with regard to u           v * y + w * x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem, Var
from relay_tune.ir.types import TupleType, Type
from relay_tune.op_rules.gradient.derived import (
    Rule,
    expression_adjoints,
    flat_adjoint,
    with_values,
)
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.matching import is_float
from relay_tune.op_rules.typed import call, recall, tuple_of, with_types


def transposed_tangent(
    original: Call, result: Expr, tangents: Sequence[Adjoint], rule: Rule
) -> Adjoint:
    """The change of a call's result, from the rule of the adjoints of its arguments."""
    values: dict[Var, Expr] = {}
    arguments = [_placeholder(argument, values) for argument in original.arguments]
    placeholder = _variable(result.type, result, values)
    weights = [_weight(field, values) for field in _fields(result)]
    if not any(weights):
        return None
    adjoint = tuple(weights) if isinstance(placeholder.type, TupleType) else weights[0]
    known = Differentiated(recall(original, arguments), placeholder, adjoint)
    pairs = [
        (found, change)
        for argument, each, wanted in zip(original.arguments, rule(known), tangents, strict=True)
        for found, change in _pairs(argument, each, wanted)
    ]
    if not pairs:
        return None
    body = tuple_of([found for found, _ in pairs])
    given = [weight for weight in weights if weight is not None]
    changes = expression_adjoints(body, tuple(change for _, change in pairs), given, rule)
    found = iter(with_values(changes, values))
    each = tuple(None if weight is None else next(found) for weight in weights)
    return each if isinstance(placeholder.type, TupleType) else each[0]


def _variable(type_: Type | None, value: Expr, values: dict[Var, Expr]) -> Var:
    new = Var(f"t{len(values)}", type_, type=type_)
    values[new] = value
    return new


def _placeholder(argument: Expr, values: dict[Var, Expr]) -> Expr:
    """A variable for an argument; constants stay, which rules may look at."""
    if isinstance(argument, Constant):
        return argument
    if isinstance(argument, Tuple):
        fields = tuple(_placeholder(field, values) for field in argument.fields)
        return replace(argument, fields=fields)
    return _variable(argument.type, argument, values)


def _fields(value: Expr) -> list[Expr]:
    if not isinstance(value.type, TupleType):
        return [value]
    return [with_types(TupleGetItem(value, n)) for n in range(len(value.type.fields))]


def _weight(field: Expr, values: dict[Var, Expr]) -> Var | None:
    """A variable for the adjoint of a result; its value does not matter: all is linear in it."""
    if not is_float(field):
        return None
    return _variable(field.type, call("zeros_like", field), values)


def _pairs(argument: Expr, adjoint: Adjoint, change: Adjoint) -> list[tuple[Expr, Expr]]:
    """(adjoint, change) of each tensor of an argument that has both."""
    count = len(argument.type.fields) if isinstance(argument.type, TupleType) else 1
    both = zip(flat_adjoint(adjoint, count), flat_adjoint(change, count), strict=True)
    return [(a, c) for a, c in both if isinstance(a, Expr) and isinstance(c, Expr)]
