"""The types of patterns: what a pattern says of the value, and what it says of its variables."""

from __future__ import annotations

from relay_tune.ir.expr import (
    ConstructorPattern,
    Expr,
    Pattern,
    TuplePattern,
    VarPattern,
)
from relay_tune.ir.types import TupleType, Type
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_terms import substitute_vars


def bind_pattern(state: InferenceState, node: Expr, pattern: Pattern, value: Type) -> None:
    """Type the variables of `pattern`, which a value of type `value` is matched with at `node`."""
    stack = [(pattern, value)]
    while stack:
        current, type_ = stack.pop()
        match current:
            case VarPattern():
                _bind_variable(state, node, current, type_)
            case TuplePattern():
                fields = tuple(state.solver.fresh() for _ in current.patterns)
                remedy = "Write one pattern for each field; _ matches anything."
                state.unify(node, "In a tuple pattern", type_, TupleType(fields), remedy)
                stack.extend(zip(current.patterns, fields, strict=True))
            case ConstructorPattern():
                inputs = _constructor_inputs(state, node, current, type_)
                stack.extend(zip(current.patterns, inputs, strict=True))


def _bind_variable(state: InferenceState, node: Expr, pattern: VarPattern, value: Type) -> None:
    if pattern.var.annotation is None:
        state.types[pattern.var] = value
        return
    annotated = state.variable(pattern.var)
    remedy = "Change the annotation, the first type, or omit it."
    state.unify(node, f"In the pattern %{pattern.var.name}", annotated, value, remedy)


def _constructor_inputs(
    state: InferenceState, node: Expr, pattern: ConstructorPattern, value: Type
) -> tuple[Type, ...]:
    """The types of the fields of a constructor, where the data type is that of the value."""
    constructor = state.constructor(node, pattern.constructor)
    if len(constructor.params) != len(pattern.patterns):
        raise state.places.error(
            node,
            f"The constructor {pattern.constructor.name} has {len(constructor.params)} field(s), "
            f"but its pattern has {len(pattern.patterns)}.",
            remedy="Write one pattern for each field; _ matches anything.",
        )
    mapping: dict[Type, Type] = {var: state.solver.fresh() for var in constructor.type_params}
    result = substitute_vars(constructor.result, mapping)
    remedy = "Match with the constructors of the value's type, the first one."
    state.unify(node, f"In the pattern {pattern.constructor.name}", value, result, remedy)
    return tuple(substitute_vars(type_, mapping) for type_ in constructor.params)
