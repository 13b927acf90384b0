"""Parts of an axis, as many as only a run knows.

before:  SplitToSequence(x, step)
after:   let %parts = fn (%round: int64) {
           if (%round < count) {
             Cons(x[%round * step : min((%round + 1) * step, n)], %parts(%round + 1))
           } else { Nil }
         };
         %parts(0)
"""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.frontend.onnx_import.carried_types import ROUND_TYPE, variable
from relay_tune.frontend.onnx_import.open_sizes import axis_size, common_element
from relay_tune.frontend.onnx_import.operators.split import ends_of_sizes
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time, sizes_of
from relay_tune.frontend.onnx_import.sequences import cons, list_of, made
from relay_tune.ir.expr import Call, Expr, Function, If, Let, Var
from relay_tune.ir.types import FuncType


def single_elements(build: Builder, data: Expr, axis: int, keeps: bool) -> Expr:
    """A list of the elements of an axis, which keep that axis or lose it."""

    def element(position: Expr) -> Expr:
        value = build.call("take", data, position, axis=axis)
        return build.call("expand_dims", value, axis=axis) if keeps else value

    return _listed(build, axis_size(build, data, axis), element)


def parts_of_one_size(build: Builder, data: Expr, axis: int, step: Expr) -> Expr:
    """A list of parts of one size, an int64 scalar, of which the last one may be shorter."""
    length, size = axis_size(build, data, axis), _checked_step(build, step)
    rounded_up = build.call("subtract", build.call("add", length, size), build.constant(1))
    count = build.call("floor_divide", rounded_up, size)

    def part(number: Expr) -> Expr:
        begin = build.call("multiply", number, size)
        end = build.call("minimum", build.call("add", begin, size), length)
        return build.call("take", data, range_at_run_time(build, begin, end), axis=axis)

    return _listed(build, count, part)


def parts_of_many_sizes(build: Builder, data: Expr, axis: int, sizes: Expr) -> Expr:
    """A list of parts whose sizes are a vector, of which only a run knows the length.

    Where one number fills the vector, as exporters write a loop over an axis, it is the size of
    each part: what reads them may need to know it.
    """
    size = common_element(build, sizes)
    ends, positions = ends_of_sizes(build, data, axis, sizes)
    starts = build.call("concatenate", build.tuple_of((build.constant([0]), ends)), axis=0)
    inside, starts = build.once(positions), build.once(starts)
    count = build.call("take", sizes_of(build, sizes), build.constant(0), axis=0)

    def part(number: Expr) -> Expr:
        following = build.call("add", number, build.constant(1))
        bounds = [build.call("take", starts, each, axis=0) for each in (number, following)]
        indices = build.call("take", inside, range_at_run_time(build, *bounds), axis=0)
        if size is not None and size >= 0:
            indices = build.with_shape(indices, (int(size),))
        return build.call("take", data, indices, axis=axis)

    return _listed(build, count, part)


def _checked_step(build: Builder, step: Expr) -> Expr:
    """The size of a part; the run ends in an error if it is not at least 1."""
    bound = build.call("minimum", step, build.constant(1))
    single = build.with_shape(range_at_run_time(build, build.constant(0), bound), (1,))
    zero = build.call("take", single, build.constant(0), axis=0)
    return build.once(build.call("add", step, zero))


def _listed(build: Builder, count: Expr, part: Callable[[Expr], Expr]) -> Expr:
    """A list of so many values, each a function of its number."""
    number = variable("number", ROUND_TYPE)
    with build.scope() as binding:
        value = part(number)
        result = list_of(type_of(value))
        type_ = FuncType((ROUND_TYPE,), result)
        parts = Var("parts", type_, type=type_)
        rest = Var("rest", result, type=result)
        again = Call(parts, (build.call("add", number, build.constant(1)),), type=result)
        some = binding(Let(rest, again, cons(build, value, rest), type=result))
    is_left = build.call("less", number, count)
    body = If(is_left, some, made("Nil", result), type=result)
    function = Function((number,), body, result_type=result, type=type_)
    start = Call(parts, (build.constant(0, "int64"),), type=result)
    return Let(parts, function, start, type=result)
