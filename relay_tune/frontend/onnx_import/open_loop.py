"""A loop whose number of rounds is known at run time only, as a recursive function.

    before:  y = Loop(n, go, x, body)
    after:   let %loop = fn (%round: int64, %go: bool, %carried0) {
               if (%round < n && %go) {
                 %loop(%round + 1, body's condition, body's values)
               } else { (%carried0, ) }
             };
             %loop(0, go, x)

The body is translated for the types of what it gives, until the carried values keep theirs from
round to round, and then once more on the parameters of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.frontend.onnx_import.carried_types import ROUND_TYPE, carried_types, variable
from relay_tune.frontend.onnx_import.sequences import converted
from relay_tune.ir.expr import Call, Expr, Function, If, Let
from relay_tune.ir.types import FuncType, TensorType, TupleType

Body = Callable[[Sequence[Expr | None]], list[Expr]]
"""Translates the body anew: round, condition and carried values to condition and values."""

GO_TYPE = TensorType((), "bool")


def open_loop(
    build: Builder, limit: Expr | None, go: Expr | None, carried: Sequence[Expr], body: Body
) -> list[Expr]:
    """The carried values after the last round.

    Raises UnsupportedOperatorError where their types change from round to round.
    """
    entry = [variable("round", ROUND_TYPE), variable("go", GO_TYPE)]
    types = carried_types(build, carried, lambda values: body([*entry, *values])[1:])
    parameters = [*entry, *(variable(f"carried{n}", type_) for n, type_ in enumerate(types))]
    carried = [converted(build, v, t) for v, t in zip(carried, types, strict=True)]
    count, goes_on, *values = parameters
    result = TupleType(tuple(types))
    loop = variable("loop", FuncType((ROUND_TYPE, GO_TYPE, *types), result))
    following_round = build.call("add", count, build.constant(1, "int64"))
    limit = None if limit is None else build.once(limit)
    with build.scope() as binding:
        condition, *following = body(parameters)
        following = [converted(build, v, t) for v, t in zip(following, types, strict=True)]
        round_arguments = (following_round, scalar(build, condition), *following)
        again = binding(Call(loop, round_arguments, type=result))
    is_left: Expr = goes_on
    if limit is not None:
        below = build.call("less", count, scalar(build, limit))
        is_left = build.call("logical_and", below, goes_on)
    choice = If(is_left, again, build.tuple_of(values), type=result)
    function = Function(tuple(parameters), choice, result_type=result, type=loop.type)
    first = build.constant(True, "bool") if go is None else scalar(build, go)
    start = Call(loop, (build.constant(0, "int64"), first, *carried), type=result)
    whole = Let(loop, function, start, type=result)
    return [build.item(whole, index) for index in range(len(carried))]


def scalar(build: Builder, value: Expr) -> Expr:
    """A tensor of one element as a scalar."""
    type_ = type_of(value)
    if not isinstance(type_, TensorType) or any(dim != 1 for dim in type_.shape):
        raise ModelError("the trip count and the condition of a loop must be one value each.")
    return build.call("reshape", value, newshape=()) if type_.shape else value
