"""Parts of an axis, as many as only a run knows.

before:  SplitToSequence(x, step)
after:   let %parts = fn (%begin: int64) {
           if (%begin < n) {
             Cons(x[%begin : min(%begin + step, n)], %parts(%begin + step))
           } else { Nil }
         };
         %parts(0)
"""

from __future__ import annotations

from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.frontend.onnx_import.carried_types import ROUND_TYPE, variable
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.sequences import cons, list_of, made
from relay_tune.ir.expr import Call, Expr, Function, If, Let, Var
from relay_tune.ir.types import FuncType


def open_parts(
    build: Builder, data: Expr, axis: int, sizes: tuple[Expr, Expr | None], keeps: bool
) -> Expr:
    """A list of the parts of an axis.

    `sizes` are the length of the axis and of a part, int64 scalars; without the second a part is
    one element, which `keeps` its axis or loses it.
    """
    length, given = sizes
    step = build.constant(1, "int64") if given is None else given
    begin = variable("begin", ROUND_TYPE)
    with build.scope() as binding:
        following = build.call("add", begin, step)
        part = _part(build, data, axis, (begin, build.call("minimum", following, length)), keeps)
        result = list_of(type_of(part))
        parts = Var("parts", FuncType((ROUND_TYPE,), result), type=FuncType((ROUND_TYPE,), result))
        rest = Var("rest", result, type=result)
        again = Call(parts, (following,), type=result)
        some = binding(Let(rest, again, cons(build, part, rest), type=result))
    is_left = build.call("less", begin, length)
    body = If(is_left, some, made("Nil", result), type=result)
    function = Function((begin,), body, result_type=result, type=parts.type)
    start = Call(parts, (build.constant(0, "int64"),), type=result)
    return Let(parts, function, start, type=result)


def _part(build: Builder, data: Expr, axis: int, bounds: tuple[Expr, Expr], keeps: bool) -> Expr:
    if not keeps:
        return build.call("take", data, bounds[0], axis=axis)
    return build.call("take", data, range_at_run_time(build, *bounds), axis=axis)
