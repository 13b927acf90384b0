"""Rounds whose number only a run knows, each of which gives a row: halves of halves.

    before:  c, rows = Loop(n, true, c, body)
    after:   let %rounds = fn (%begin: int64, %end: int64, %c) {
               if (%end - %begin < 2) {
                 body(%begin, %c) as (%c', (row, ))       perhaps another one where %begin is 0
               } else {
                 let %first = %rounds(%begin, %middle, %c);
                 let %second = %rounds(%middle, %end, %first.0);
                 (%second.0, concatenate((%first.1, %second.1)))
               }
             };
             %rounds(0, n, c)

Each row is copied as often as n can be halved, and calls are as deep. A tensor that grows by a row
in each round would be copied n times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.frontend.onnx_import.build import Builder, shape_of, type_of
from relay_tune.frontend.onnx_import.carried_types import ROUND_TYPE, carried_types, variable
from relay_tune.frontend.onnx_import.open_sizes import filled_to_sizes
from relay_tune.frontend.onnx_import.sequences import converted
from relay_tune.ir.dim import UNKNOWN, UnknownDim
from relay_tune.ir.expr import Call, Expr, Function, If, Let, Var
from relay_tune.ir.types import FuncType, TensorType, TupleType

Step = Callable[[Expr, Sequence[Expr]], tuple[Sequence[Expr], Sequence[Expr]]]
"""Translates a round: its number and the carried values to carried values and rows."""


def collected_rounds(
    build: Builder, count: Expr, carried: Sequence[Expr], step: Step, first: Step | None = None
) -> tuple[list[Expr], list[Expr]]:
    """The carried values after `count` rounds (an int64 scalar), and the rows one on another.

    `first` translates round 0, where what is known of the values before it saves work.
    Raises UnsupportedOperatorError where a carried value changes its rank or element type.
    """

    def following(values: Sequence[Expr]) -> Sequence[Expr]:
        return step(variable("round", ROUND_TYPE), values)[0]

    types = carried_types(build, carried, following)
    begin, end = variable("begin", ROUND_TYPE), variable("end", ROUND_TYPE)
    values = [variable(f"carried{n}", type_) for n, type_ in enumerate(types)]
    single, result = _single(build, step, begin, values)
    if first is not None:
        is_first = build.call("less", begin, build.constant(1, "int64"))
        single = If(is_first, _single(build, first, begin, values)[0], single, type=result)
    function_type = FuncType((ROUND_TYPE, ROUND_TYPE, *types), result)
    rounds = Var("rounds", function_type, type=function_type)
    halves = _halves(build, rounds, (begin, end, values), result)
    few = build.call("less", build.call("subtract", end, begin), build.constant(2, "int64"))
    body = If(few, single, halves, type=result)
    function = Function((begin, end, *values), body, result_type=result, type=function_type)
    given = [converted(build, v, t) for v, t in zip(carried, types, strict=True)]
    start = Call(rounds, (build.constant(0, "int64"), count, *given), type=result)
    nothing = _nothing(build, given, result)
    is_empty = build.call("less", count, build.constant(1, "int64"))
    whole = Let(rounds, function, If(is_empty, nothing, start, type=result), type=result)
    items = [build.item(whole, index) for index in range(len(result.fields))]
    return items[: len(types)], items[len(types) :]


def _single(
    build: Builder, step: Step, number: Var, values: Sequence[Var]
) -> tuple[Expr, TupleType]:
    """The values after one round, and a stack of one of each row; and their types."""
    with build.scope() as binding:
        after, rows = step(number, values)
        types = (type_of(value) for value in values)
        carried = [converted(build, v, t) for v, t in zip(after, types, strict=True)]
        stacks = []
        for row in rows:
            stack = build.call("expand_dims", row, axis=0)
            stacks.append(build.with_shape(stack, (UNKNOWN, *shape_of(row))))
        result = build.tuple_of([*carried, *stacks])
        assert isinstance(result.type, TupleType)  # that of a tuple
        return binding(result), result.type


def _halves(
    build: Builder, rounds: Var, parameters: tuple[Expr, Expr, Sequence[Expr]], result: TupleType
) -> Expr:
    """The rounds before the middle, then those behind it."""
    begin, end, values = parameters
    two = build.constant(2, "int64")
    middle = build.call("floor_divide", build.call("add", begin, end), two)
    first, second = Var("first", result, type=result), Var("second", result, type=result)
    after_first = [build.item(first, index) for index in range(len(values))]
    stacks = []
    for index in range(len(values), len(result.fields)):
        both = build.tuple_of([build.item(first, index), build.item(second, index)])
        stacks.append(build.call("concatenate", both, axis=0))
    after = [build.item(second, index) for index in range(len(values))]
    last = Call(rounds, (middle, end, *after_first), type=result)
    inner = Let(second, last, build.tuple_of([*after, *stacks]), type=result)
    return Let(first, Call(rounds, (begin, middle, *values), type=result), inner, type=result)


def _nothing(build: Builder, given: Sequence[Expr], result: TupleType) -> Expr:
    """The values as they are, and stacks of no row."""
    with build.scope() as binding:
        stacks = []
        for type_ in result.fields[len(given) :]:
            assert isinstance(type_, TensorType)  # a stack of rows
            sizes = [0 if isinstance(dim, UnknownDim) else dim for dim in type_.shape[1:]]
            empty = filled_to_sizes(build, 0, type_.dtype, (0, *sizes))
            stacks.append(build.with_shape(empty, type_.shape))
        return binding(build.tuple_of([*given, *stacks]))
