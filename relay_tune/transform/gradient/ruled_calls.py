"""Calls of functions with rules of their own: the rule's functions are called in their place."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.expr import Call, Expr, Var
from relay_tune.ir.types import TupleType
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.transform.gradient.adjoint_values import UserValues
from relay_tune.transform.gradient.block_code import BlockCode
from relay_tune.transform.gradient.ruled import RuledFunction
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    field_of,
    parameter,
    type_of,
    variable,
)


def sweep_ruled_call(
    code: BlockCode, var: Var, call: Call, rule: RuledFunction, adjoint: Adjoint
) -> None:
    """Reverse mode: the forward function gives the result and what the backward function needs."""
    if adjoint is None or rule.forward is None or rule.backward is None:
        code.forward.append((var, call))
        return
    forward = rule.called(rule.forward, call.arguments)
    run = variable(f"{var.name}_run", type_of(forward))
    left = field_of(run, 1)
    tape = variable(f"{var.name}_tape", type_of(left))
    code.forward.append((tape, left))
    _name_result(var, field_of(run, 0), code.forward)
    code.forward.append((run, forward))
    given = code.of.user.given(adjoint, var)
    backward = rule.called(rule.backward, call.arguments, (tape, given))
    whole = code.bound(f"d_{rule.name}", backward)
    for index, part in zip(rule.differentiable, _adjoints(rule, whole), strict=True):
        if code.of.activity.is_active(call.arguments[index]):
            code.contribute(call.arguments[index], code.of.user.taken(part))


def carry_through(
    rule: RuledFunction,
    user: UserValues,
    var: Var,
    call: Call,
    tangents: Sequence[Adjoint],
    out: list[Binding],
) -> Adjoint:
    """Forward mode: the tangent of the result, which the rule's function computes with it."""
    if rule.tangent is None or all(each is None for each in tangents):
        out.append((var, call))
        return None
    changes = [user.given(tangents[index], call.arguments[index]) for index in rule.differentiable]
    tangent = rule.called(rule.tangent, call.arguments, changes)
    both = variable(f"{var.name}_both", type_of(tangent))
    out.append((both, tangent))
    bindings: list[Binding] = []
    _name_result(var, field_of(both, 0), bindings)
    out += reversed(bindings)
    return user.taken(field_of(both, 1))


def _name_result(var: Var, value: Expr, out: list[Binding]) -> None:
    """Bind the result, the last binding first; another type is told at a name of its own."""
    if type_of(value) == type_of(var):
        out.append((var, value))
        return
    told = parameter(var.name, type_of(var))
    out.extend(((var, told), (told, value)))


def _adjoints(rule: RuledFunction, whole: Expr) -> tuple[Expr, ...]:
    """What the backward function returns: the only adjoint itself, or a tuple of them."""
    indices, type_ = rule.differentiable, type_of(whole)
    if len(indices) == 1 and type_ == type_of(rule.function.params[indices[0]]):
        return (whole,)
    assert isinstance(type_, TupleType)
    return tuple(field_of(whole, index) for index in range(len(type_.fields)))
