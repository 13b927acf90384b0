"""Reverse mode of what has no blocks inside: operators, tuples, constructors."""

from __future__ import annotations

from relay_tune.ir.expr import (
    Call,
    Constructor,
    Expr,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TupleType
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.gradient.table import adjoints_of
from relay_tune.transform.gradient.adjoint_values import fields_of_adjoint
from relay_tune.transform.gradient.block_code import BlockCode
from relay_tune.transform.gradient.cells import is_pair
from relay_tune.transform.gradient.reverse_cells import sweep_cell, sweep_new_cell
from relay_tune.transform.gradient.typed_nodes import (
    fields_pattern,
    matched,
    packed,
    type_of,
    unpacked,
    variable,
)


def sweep_line(code: BlockCode, var: Var, value: Expr, adjoint: Adjoint) -> None:
    """Sweep a value without blocks inside that calls no function of the program."""
    match value:
        case RefRead() | RefWrite():
            sweep_cell(code, value, adjoint)
        case Tuple() if is_pair(code.of.types, type_of(value)):
            sweep_new_cell(code, var, value)
        case _ if adjoint is None:
            return
        case Var():
            code.contribute(value, adjoint)
        case Tuple():
            pairs = zip(value.fields, fields_of_adjoint(adjoint), strict=True)
            for part, each in pairs:
                code.contribute(part, each)
        case TupleGetItem():
            whole = type_of(value.tuple_value)
            assert isinstance(whole, TupleType)
            parts: list[Adjoint] = [None] * len(whole.fields)
            parts[value.index] = adjoint
            code.contribute(value.tuple_value, tuple(parts))
        case Call(callee=Constructor() as constructor):
            _constructor(code, value, constructor, adjoint)
        case Call(callee=Operator()):
            adjoints = adjoints_of(Differentiated(value, var, adjoint))
            for argument, each in zip(value.arguments, adjoints, strict=True):
                code.contribute(argument, each)


def _constructor(code: BlockCode, call: Call, constructor: Constructor, adjoint: Adjoint) -> None:
    """Take the adjoints of fields that change out of that of the whole."""
    data = code.of.types.data(type_of(call))
    is_active = code.of.activity.is_active
    if constructor.name not in data.constructors:
        return
    assert isinstance(adjoint, Expr)
    fields = code.of.types.constructor_fields_of(data, constructor.name, type_of(adjoint))
    wanted = [index for index in fields if is_active(call.arguments[index])]
    if not wanted:
        return
    bound = {index: variable(f"d{index}", fields[index]) for index in wanted}
    zeros = [code.of.values.zero(fields[index], call.arguments[index]) for index in wanted]
    pattern = fields_pattern(
        data.constructors[constructor.name], [bound.get(index) for index in fields]
    )
    taken = matched(
        adjoint,
        (
            (pattern, packed([bound[index] for index in wanted])),
            (fields_pattern(data.zero, ()), packed(zeros)),
        ),
        complete=len(data.constructors) == 1,
    )
    whole = code.bound(f"d_{constructor.name}", taken)
    for index, part in zip(wanted, unpacked(whole, len(wanted)), strict=True):
        code.contribute(call.arguments[index], part)
