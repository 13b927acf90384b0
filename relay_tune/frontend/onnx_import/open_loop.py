"""A loop whose number of rounds is known at run time only, as a recursive function.

    before:  y = Loop(n, go, x, body)
    after:   let %loop = fn (%round: int64, %go: bool, %carried0) {
               if (%round < n && %go) {
                 %loop(%round + 1, body's condition, body's values)
               } else { (%carried0, ) }
             };
             %loop(0, go, x)

The body is translated twice: once for the types of what it gives, which the carried values must
keep from round to round, and once on the parameters of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.errors import FIX_SIZES, ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.ir.expr import Call, Expr, Function, If, Let, Var
from relay_tune.ir.types import FuncType, TensorType, TupleType, Type
from relay_tune.typing.type_text import type_text

Body = Callable[[Sequence[Expr | None]], list[Expr]]
"""Translates the body anew: round, condition and carried values to condition and values."""

ROUND_TYPE, GO_TYPE = TensorType((), "int64"), TensorType((), "bool")


def open_loop(
    build: Builder, limit: Expr | None, go: Expr | None, carried: Sequence[Expr], body: Body
) -> list[Expr]:
    """The carried values after the last round.

    Raises UnsupportedOperatorError where their types change from round to round.
    """
    types = tuple(type_of(value) for value in carried)
    parameters = [_variable("round", ROUND_TYPE), _variable("go", GO_TYPE)]
    parameters += [_variable(f"carried{n}", type_) for n, type_ in enumerate(types)]
    count, goes_on, *values = parameters
    condition, *following = body(parameters)
    _check_types(types, following)
    result = TupleType(types)
    loop = _variable("loop", FuncType((ROUND_TYPE, GO_TYPE, *types), result))
    following_round = build.call("add", count, build.constant(1, "int64"))
    again = Call(loop, (following_round, _scalar(build, condition), *following), type=result)
    is_left: Expr = goes_on
    if limit is not None:
        below = build.call("less", count, _scalar(build, limit))
        is_left = build.call("logical_and", below, goes_on)
    choice = If(is_left, again, build.tuple_of(values), type=result)
    function = Function(tuple(parameters), choice, result_type=result, type=loop.type)
    first = build.constant(True, "bool") if go is None else _scalar(build, go)
    start = Call(loop, (build.constant(0, "int64"), first, *carried), type=result)
    whole = Let(loop, function, start, type=result)
    return [build.item(whole, place) for place in range(len(carried))]


def _variable(name: str, type_: Type) -> Var:
    return Var(name, type_, type=type_)


def _scalar(build: Builder, value: Expr) -> Expr:
    """A tensor of one element as a scalar."""
    type_ = type_of(value)
    if not isinstance(type_, TensorType) or any(dim != 1 for dim in type_.shape):
        raise ModelError("the trip count and the condition of a loop must be one value each.")
    return build.call("reshape", value, newshape=()) if type_.shape else value


def _check_types(before: Sequence[Type], after: Sequence[Expr]) -> None:
    for place, (type_, value) in enumerate(zip(before, after, strict=True)):
        if type_of(value) != type_:
            raise UnsupportedOperatorError(
                f"carried value {place} of the loop has the type {type_text(type_)} before and "
                f"{type_text(type_of(value))} after a round; such a loop is supported only if the "
                "number of its rounds is known.",
                remedy=FIX_SIZES,
            )
