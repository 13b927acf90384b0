"""Typed expressions that derivatives of programs are written with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constructor,
    ConstructorPattern,
    Expr,
    GlobalVar,
    Let,
    Match,
    Pattern,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VarPattern,
    WildcardPattern,
)
from relay_tune.ir.types import UNIT, RefType, TupleType, Type, TypeCall
from relay_tune.transform.language.let_blocks import is_atom

Binding = tuple[Var, Expr]
"""`let var = value`."""


def type_of(expr: Expr) -> Type:
    """The type of a typed expression."""
    found = expr.type
    if found is None and isinstance(expr, Var):
        found = expr.annotation
    assert found is not None, expr
    return found


def variable(name: str, type_: Type) -> Var:
    """A new typed variable."""
    return Var(name, type=type_)


def parameter(name: str, type_: Type) -> Var:
    """A new parameter of a function."""
    return Var(name, type_, type=type_)


def is_named(value: Expr) -> bool:
    """Whether a value is a variable, constant or field, which needs no other name."""
    return is_atom(value) or isinstance(value, TupleGetItem)


def named_as(name: str, value: Expr, type_: Type) -> Var:
    """A variable for a value; it tells its type if the value has another one."""
    return variable(name, type_) if type_of(value) == type_ else parameter(name, type_)


def function_call(name: str, arguments: Sequence[Expr], result: Type) -> Call:
    """A call of a function of the module."""
    return Call(GlobalVar(name), tuple(arguments), type=result)


def constructed(constructor: Constructor, fields: Sequence[Expr], type_: Type) -> Call:
    """A value of a data type."""
    arguments = type_.arguments if isinstance(type_, TypeCall) else ()
    return Call(constructor, tuple(fields), None, arguments, type=type_)


def tuple_of(fields: Iterable[Expr]) -> Tuple:
    """A tuple of typed expressions."""
    made = tuple(fields)
    return Tuple(made, type=TupleType(tuple(map(type_of, made))))


def unit() -> Tuple:
    """The empty tuple."""
    return Tuple((), type=UNIT)


def field_of(whole: Expr, index: int) -> Expr:
    """A field of a tuple, taken out where the tuple is written out."""
    if isinstance(whole, Tuple):
        return whole.fields[index]
    type_ = type_of(whole)
    assert isinstance(type_, TupleType)
    return TupleGetItem(whole, index, type=type_.fields[index])


def packed(values: Sequence[Expr]) -> Expr:
    """Values as one: the only one itself, a tuple of several."""
    return values[0] if len(values) == 1 else tuple_of(values)


def unpacked(whole: Expr, count: int) -> tuple[Expr, ...]:
    """The values that `packed` made one of."""
    return (whole,) if count == 1 else tuple(field_of(whole, index) for index in range(count))


def let_block(bindings: Sequence[Binding], result: Expr) -> Expr:
    """`result` with bindings around it, the first one outermost.

    One that is it is not bound, unless it tells a type.
    """
    kept = list(bindings)
    if kept and kept[-1][0] is result and kept[-1][0].annotation is None:
        result = kept.pop()[1]
    for var, value in reversed(kept):
        result = Let(var, value, result, type=result.type)
    return result


def fields_pattern(constructor: Constructor, variables: Sequence[Var | None]) -> Pattern:
    """The pattern of a constructor that binds its fields; None: the field is not used."""
    parts = (WildcardPattern() if var is None else VarPattern(var) for var in variables)
    return ConstructorPattern(constructor, tuple(parts))


def matched(value: Expr, clauses: Sequence[tuple[Pattern, Expr]], complete: bool = True) -> Match:
    """A match whose clauses have results of one type."""
    made = tuple(Clause(pattern, body) for pattern, body in clauses)
    return Match(value, made, complete, type=made[0].body.type)


def renamed(var: Var) -> Var:
    """Another variable of the same name and type, without an annotation."""
    return variable(var.name, type_of(var))


def cell_read(cell: Expr) -> RefRead:
    """What a cell holds."""
    held = type_of(cell)
    assert isinstance(held, RefType)
    return RefRead(cell, type=held.value)


def cell_written(cell: Expr, value: Expr) -> RefWrite:
    """A cell given a value."""
    return RefWrite(cell, value, type=UNIT)
