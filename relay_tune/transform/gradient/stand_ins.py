"""Functions of the module that stand for others: those with rules of their own, and checkpoints.

    def @f_checkpoint(%x: float32) {
      %value = @f(%x);
      checkpointed(%value)
    }

Closures among the functions that such a function calls become data like all others, with what they
capture as leading parameters. Nobody writes the body in place of a call until derivatives are
programs; then the value is all that is left of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.ir.expr import Call, Expr, Function, Let, Var
from relay_tune.ir.reached import reached
from relay_tune.ir.types import RefType, Type
from relay_tune.op_rules.gradient.requests import CHECKPOINTED, RULED
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.swept import substituted
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.type_terms import parts


def is_ruled(function: Function) -> bool:
    """Whether a function stands for one with a rule."""
    return RULED.rule_of(result_of(function.body)) is not None


def is_checkpoint(function: Function) -> bool:
    """Whether a function stands for one that is computed again."""
    return CHECKPOINTED.rule_of(result_of(function.body)) is not None


def is_stand_in(function: Function) -> bool:
    """Whether a function stands for another one."""
    return is_ruled(function) or is_checkpoint(function)


def with_value_alone(function: Function) -> Function:
    """A function that stands for another one, as one that calls it and nothing else."""
    values = bindings_of(function.body)
    whole = result_of(function.body)
    assert isinstance(whole, Call)
    used: dict[Expr, Expr] = dict(values.items())
    value = whole.arguments[0]
    return with_body(function, substituted(used.get(value, value), used))


def called(
    function: Function, call: Call, arguments: Sequence[Expr], more: Sequence[Expr] = ()
) -> Call:
    """A call in the parameters of a function, for other arguments, with `more` for the last ones
    of the call."""
    known: Mapping[Expr, Expr] = dict(zip(function.params, arguments, strict=True))
    first = call.arguments[: len(call.arguments) - len(more)]
    given = (*(known.get(each, each) for each in first), *more)
    return replace(call, arguments=given)


def result_of(body: Expr) -> Expr:
    """What a body gives, in the variables that it binds."""
    while isinstance(body, Let):
        body = body.body
    return body


def bindings_of(body: Expr) -> dict[Var, Expr]:
    """What a body binds before its result."""
    values = {}
    while isinstance(body, Let):
        values[body.var] = body.value
        body = body.body
    return values


def holds_cells(type_: Type, types: AdjointTypes) -> bool:
    """Whether cells are reached from a value of a type."""

    def within(part: Type) -> Sequence[Type]:
        return (*parts(part), *types.fields_of_data(part))

    return any(isinstance(part, RefType) for part in reached([type_], within))
