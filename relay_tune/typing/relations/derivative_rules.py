"""Type relations of functions whose derivatives users compute.

A parameter is *differentiable* if it holds floats, or may hold some: no integers, functions, or
cells. Of those that are not, a rule has no adjoints and no tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.errors import RelayError
from relay_tune.ir.dtypes import is_float
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import FuncType, IncompleteType, RefType, TensorType, TupleType, Type
from relay_tune.typing.relations.derivative import function_among
from relay_tune.typing.type_terms import parts
from relay_tune.typing.type_text import type_text


def custom_pullback(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """fn (P ..) -> T, fn (P ..) -> (T, R), fn (R, T) -> the adjoints of P .."""
    remedy = "Give functions: custom_vjp(@f, @forward, @backward)."
    function, forward, backward = (function_among(each, remedy) for each in inputs)
    if function is None or forward is None or backward is None:
        return None
    _require_count("forward", forward, function.params)
    _require_no_cells(function)
    for given, wanted in zip(forward.params, function.params, strict=True):
        _unify("The rule's forward", given, wanted, "a parameter of the function", context)
    _require_count("backward", backward, (None, None), "(what `forward` leaves, the adjoint)")
    made = context.resolve(forward.result)
    if isinstance(made, IncompleteType):
        return None
    if not isinstance(made, TupleType) or len(made.fields) != 2:
        raise RelationError(
            f"the rule's forward returns {type_text(made)}, which is no pair of the function's "
            "result and what backward needs",
            remedy="Return two values, as in (%result, (%x, %y)); () where backward needs nothing.",
        )
    residuals, result = made.fields[1], function.result
    _unify("The rule's forward", made.fields[0], result, "the function's result", context)
    _unify("The rule's backward", backward.params[0], residuals, "what forward leaves", context)
    _unify("The rule's backward", backward.params[1], result, "the function's result", context)
    params = [context.resolve(param) for param in function.params]
    given = context.resolve(backward.result)
    if not all(map(_is_known, (given, *params))):
        return None
    _require_adjoints(given, tuple(filter(is_differentiable, params)), context)
    return function


def custom_pushforward(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """fn (P ..) -> T, fn (P .., tangents of P ..) -> (T, T)."""
    remedy = "Give functions: custom_jvp(@f, @tangent)."
    function, tangent = (function_among(each, remedy) for each in inputs)
    if function is None or tangent is None:
        return None
    _require_no_cells(function)
    params = [context.resolve(param) for param in function.params]
    if not all(map(_is_known, params)):
        return None
    wanted = [*params, *filter(is_differentiable, params)]
    _require_count("tangent", tangent, wanted, "(the parameters, then their tangents)")
    for given, each in zip(tangent.params, wanted, strict=True):
        _unify("The rule's tangent", given, each, "a parameter of the function", context)
    both = TupleType((function.result, function.result))
    _unify("The rule's tangent", tangent.result, both, "(result, tangent)", context)
    return function


def checkpointed_function(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """fn (P ..) -> T, the same."""
    function = function_among(inputs[0], "Give a function: checkpoint(@f).")
    if function is None:
        return None
    params = [context.resolve(param) for param in function.params]
    for index, param in enumerate(params):
        if isinstance(param, RefType):
            raise RelationError(
                f"parameter {index} of the function is a cell, whose value may be another one when "
                "the function is computed again",
                remedy="Take the value of the cell in place of it, and return the new one.",
            )
    return function if all(map(_is_known, params)) else None


def first_of(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """The type of the first argument."""
    return None if isinstance(inputs[0], IncompleteType) else inputs[0]


def is_differentiable(type_: Type) -> bool:
    """Whether a rule has an adjoint, or a tangent, of a parameter of this type."""
    match type_:
        case TensorType():
            return is_float(type_.dtype)
        case TupleType():
            return any(map(is_differentiable, type_.fields))
        case FuncType() | RefType():
            return False
        case _:
            return True


def _is_known(type_: Type) -> bool:
    return not isinstance(type_, IncompleteType) and all(map(_is_known, parts(type_)))


def _require_count(
    name: str, function: FuncType, wanted: Sequence[object], what: str = "those of the function"
) -> None:
    if len(function.params) != len(wanted):
        raise RelationError(
            f"the rule's {name} takes {len(function.params)} parameter(s), but {len(wanted)} are "
            f"needed: {what}",
            remedy=f"Give {name} these parameters; those that hold no floats have no tangents.",
        )


def _require_no_cells(function: FuncType) -> None:
    for index, param in enumerate(function.params):
        if isinstance(param, RefType):
            raise RelationError(
                f"parameter {index} of the function is a cell, for which a rule has no adjoint",
                remedy="Take the value of the cell in place of it.",
            )


def _unify(owner: str, given: Type, wanted: Type, what: str, context: RelationContext) -> None:
    try:
        context.unify(given, wanted)
    except RelayError as error:
        found, expected = type_text(context.resolve(given)), type_text(context.resolve(wanted))
        raise RelationError(
            f"{owner[0].lower()}{owner[1:]} has {found} where {what} is {expected}",
            label=error.label,
            remedy="The types of a rule are those of its function.",
        ) from error


def _require_adjoints(given: Type, wanted: tuple[Type, ...], context: RelationContext) -> None:
    """`given` is a tuple of the types `wanted`, or the only one itself."""
    if len(wanted) == 1 and given == wanted[0]:
        return
    listed = given.fields if isinstance(given, TupleType) else None
    if listed is None or len(listed) != len(wanted):
        raise RelationError(
            f"the rule's backward returns {type_text(given)}, but the adjoints are "
            f"{type_text(TupleType(wanted))}",
            remedy="Return one adjoint, of the parameter's type, for each parameter that holds "
            "floats.",
        )
    for each, type_ in zip(listed, wanted, strict=True):
        _unify("The rule's backward", each, type_, "the adjoint of a parameter", context)
