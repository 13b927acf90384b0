"""Type relations of derivatives: operators on functions, which a pass removes.

An adjoint, and a tangent, has the type of the value that it belongs to; where the value holds
integers, those of the adjoint are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dtypes import is_float
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import FuncType, IncompleteType, RefType, TensorType, TupleType, Type
from relay_tune.typing.type_text import type_text

GIVE_ONE = "Give a function: grad(@f), or grad(fn (%x) { .. })."


def gradient(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """fn (P ..) -> T becomes fn (P ..) -> (T, (the chosen P ..)); T is a number."""
    function = function_among(inputs[0], GIVE_ONE)
    if function is None:
        return None
    require_number(context.resolve(function.result))
    chosen = _chosen(function, attributes.wrt, context)
    result = TupleType((function.result, TupleType(chosen)))
    return FuncType(function.params, result, function.type_params)


def pullback(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """fn (P ..) -> T becomes fn (P .., T) -> (T, (the chosen P ..))."""
    function = function_among(inputs[0], GIVE_ONE)
    if function is None:
        return None
    chosen = _chosen(function, attributes.wrt, context)
    result = TupleType((function.result, TupleType(chosen)))
    return FuncType((*function.params, function.result), result, function.type_params)


def pushforward(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """fn (P ..) -> T becomes fn (P .., the chosen P ..) -> (T, T)."""
    function = function_among(inputs[0], GIVE_ONE)
    if function is None:
        return None
    chosen = _chosen(function, attributes.wrt, context)
    result = TupleType((function.result, function.result))
    return FuncType((*function.params, *chosen), result, function.type_params)


def derivative(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(the value of a call, the tuple of its arguments, adjoints or tangents that are given)."""
    value, arguments, _ = inputs
    if isinstance(value, IncompleteType) or not isinstance(arguments, TupleType):
        return None
    if attributes.mode == "tangent":
        return TupleType((value, value))
    if attributes.mode == "gradient":
        require_number(value)
    return TupleType((value, TupleType(tuple(arguments.fields[i] for i in attributes.wrt))))


def require_number(type_: Type) -> None:
    """RelationError where a gradient would not be that of one floating-point number."""
    is_number = isinstance(type_, TensorType) and not type_.shape and is_float(type_.dtype)
    if not is_number and isinstance(type_, TensorType | TupleType):
        raise RelationError(
            f"the function returns {type_text(type_)}, which is no floating-point number",
            remedy="Return one number, such as a sum or mean, or use vjp, which takes the "
            "adjoint of the result.",
        )


def require_differentiable(index: int, type_: Type) -> None:
    """RelationError where there is no derivative with regard to a parameter of this type."""
    reason = None
    match type_:
        case TensorType() if not is_float(type_.dtype):
            reason = "does not change continuously"
        case FuncType():
            reason = "is a function"
        case RefType():
            reason = "is a cell"
    if reason is not None:
        raise RelationError(
            f"parameter {index} of the function has type {type_text(type_)}, which {reason}",
            remedy="Choose other parameters: wrt=[0] differentiates with regard to the first one.",
        )


def function_among(type_: Type, remedy: str) -> FuncType | None:
    """The type of a function that an operator takes; None where it is not known yet.

    Raises RelationError, with this remedy, for what is no function.
    """
    if isinstance(type_, IncompleteType):
        return None
    if isinstance(type_, FuncType):
        return type_
    raise RelationError(
        f"expects a function, but the argument has type {type_text(type_)}", remedy=remedy
    )


def _chosen(
    function: FuncType, wrt: tuple[int, ...] | None, context: RelationContext
) -> tuple[Type, ...]:
    """The types of the parameters with regard to which a function is differentiated."""
    count = len(function.params)
    for index in wrt or ():
        if not 0 <= index < count:
            raise RelationError(
                f"wrt names parameter {index}, but the function has {count}",
                remedy="Count parameters from 0.",
            )
    chosen = tuple(range(count)) if wrt is None else wrt
    for index in chosen:
        require_differentiable(index, context.resolve(function.params[index]))
    return tuple(function.params[index] for index in chosen)
