"""Patterns as tests of layouts and reads of fields."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import (
    ConstructorPattern,
    Expr,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
)
from relay_tune.ir.types import TupleType, Type, unflatten
from relay_tune.program.block_builder import BlockBuilder
from relay_tune.program.instructions import ReadField, Register
from relay_tune.program.kinds import kinds_of
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.object_layouts import ObjectLayouts
from relay_tune.program.values import Value, new_registers
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class BoundPattern:
    """The variables of a pattern, and whether a value may not fit it."""

    bindings: Mapping[Expr, Value]
    may_fail: bool


@dataclass(frozen=True, eq=False, slots=True)
class _Field:
    """A field whose pattern is a variable; it is read when all tests have passed."""

    var: Var
    object: Register
    layout: ObjectLayout
    first: int
    type: Type


def bind_pattern(
    builder: BlockBuilder,
    layouts: ObjectLayouts,
    pattern: Pattern,
    value: Value,
    type_: Type,
    otherwise: int | None,
) -> BoundPattern:
    """Go on only if a value fits a pattern, else with the block `otherwise`; None: it fits."""
    bindings: dict[Expr, Value] = {}
    fields: list[_Field] = []
    may_fail = False
    pending = [(pattern, value, type_)]
    while pending:
        current, part, part_type = pending.pop()
        match current:
            case VarPattern():
                bindings[current.var] = part
            case TuplePattern():
                assert isinstance(part, tuple) and isinstance(part_type, TupleType)
                pending += zip(current.patterns, part, part_type.fields, strict=True)
            case ConstructorPattern():
                assert isinstance(part, Register)
                constructor = layouts.constructors_of(part_type)[current.constructor.name]
                layout = layouts.constructor(part_type, constructor)
                if otherwise is not None:
                    builder.require_layout(part, layout, otherwise)
                    may_fail = True
                first = 0
                types = layouts.field_types(part_type, constructor)
                for inner, field_type in zip(current.patterns, types, strict=True):
                    if isinstance(inner, VarPattern):
                        fields.append(_Field(inner.var, part, layout, first, field_type))
                    elif not isinstance(inner, WildcardPattern):
                        read = _read(builder, part, layout, first, field_type)
                        pending.append((inner, read, field_type))
                    first += len(kinds_of(field_type))
    for field in fields:
        bindings[field.var] = _read(builder, field.object, field.layout, field.first, field.type)
    return BoundPattern(bindings, may_fail)


def _read(
    builder: BlockBuilder, object_: Register, layout: ObjectLayout, first: int, type_: Type
) -> Value:
    """The field of a Relay type that begins at field number `first` of an object."""
    registers = new_registers(type_)
    for index, register in enumerate(registers, start=first):
        builder.emit(ReadField(register, object_, layout, index))
    return unflatten(type_, iter(registers))
