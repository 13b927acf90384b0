"""Patterns, seen from the adjoints of what they bind."""

from __future__ import annotations

from relay_tune.ir.expr import (
    ConstructorPattern,
    Expr,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
)
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.adjoint_values import AdjointValues
from relay_tune.transform.gradient.typed_nodes import constructed, tuple_of, variable


def with_names(types: AdjointTypes, pattern: Pattern, type_: Type) -> Pattern:
    """A pattern with variables where zeros may have to be made like what it does not bind."""
    match pattern:
        case WildcardPattern() if _has_open_sizes(type_):
            return VarPattern(variable("unused", type_))
        case ConstructorPattern():
            fields = types.constructor_fields(pattern.constructor, type_)
        case TuplePattern() if isinstance(type_, TupleType):
            return TuplePattern(_parts(types, pattern.patterns, type_.fields))
        case _:
            return pattern
    return ConstructorPattern(pattern.constructor, _parts(types, pattern.patterns, fields))


def _parts(
    types: AdjointTypes, patterns: tuple[Pattern, ...], fields: tuple[Type, ...]
) -> tuple[Pattern, ...]:
    pairs = zip(patterns, fields, strict=True)
    return tuple(with_names(types, part, field) for part, field in pairs)


def _has_open_sizes(type_: Type) -> bool:
    match type_:
        case TensorType():
            return not all(isinstance(dim, int) for dim in type_.shape)
        case TupleType():
            return any(map(_has_open_sizes, type_.fields))
        case _:
            return False


def pattern_adjoint(
    types: AdjointTypes,
    values: AdjointValues,
    pattern: Pattern,
    type_: Type,
    adjoints: dict[Var, Adjoint],
) -> Adjoint:
    """The adjoint of a value of type `type_` that a pattern matched, from those of its variables.

    These are taken out of `adjoints`.
    """
    match pattern:
        case VarPattern():
            return adjoints.pop(pattern.var, None)
        case TuplePattern() if isinstance(type_, TupleType):
            pairs = zip(pattern.patterns, type_.fields, strict=True)
            found = tuple(pattern_adjoint(types, values, p, t, adjoints) for p, t in pairs)
            return None if all(part is None for part in found) else found
        case ConstructorPattern():
            return _constructor_adjoint(types, values, pattern, type_, adjoints)
        case _:
            return None


def _constructor_adjoint(
    types: AdjointTypes,
    values: AdjointValues,
    pattern: ConstructorPattern,
    type_: Type,
    adjoints: dict[Var, Adjoint],
) -> Adjoint:
    fields = types.constructor_fields(pattern.constructor, type_)
    pairs = list(zip(pattern.patterns, fields, strict=True))
    found = [pattern_adjoint(types, values, p, t, adjoints) for p, t in pairs]
    if all(part is None for part in found):
        return None
    data, result = types.data(type_), types.field_adjoint(type_)
    name = pattern.constructor.name
    made = [
        values.value(found[index], matched_value(*pairs[index]), wanted)
        for index, wanted in types.constructor_fields_of(data, name, result).items()
    ]
    return constructed(data.constructors[name], made, result)


def matched_value(pattern: Pattern, type_: Type) -> Expr:
    """The value that a pattern matches, as far as it is bound."""
    match pattern:
        case VarPattern():
            return pattern.var
        case TuplePattern() if isinstance(type_, TupleType):
            pairs = zip(pattern.patterns, type_.fields, strict=True)
            return tuple_of(matched_value(part, field) for part, field in pairs)
        case _:
            return variable("unused", type_)  # only its type is asked for: no size is open
