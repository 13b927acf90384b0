"""Loops: written out where the number of rounds is known, else functions of the language."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    known_scalar,
    shape_of,
    tensor_type,
)
from relay_tune.frontend.onnx_import.carried_types import ROUND_TYPE, variable
from relay_tune.frontend.onnx_import.collected_rounds import collected_rounds
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_loop import open_loop, scalar
from relay_tune.frontend.onnx_import.open_sizes import filled_to_sizes
from relay_tune.frontend.onnx_import.subgraph import Enter, Subgraph, check_unrolled
from relay_tune.frontend.onnx_import.symbolic import known_dims
from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.expr import Constant, Expr, If
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop of ONNX: how many rounds at the most, whether to begin, what it carries, its body."""

    build: Builder
    limit: Expr | None
    condition: Expr | None
    carried: Sequence[Expr]
    body: Subgraph

    @property
    def collected(self) -> int:
        """How many values of each round are collected."""
        return self.body.output_count - 1 - len(self.carried)

    def outputs(self, number: Expr, values: Sequence[Expr]) -> tuple[Expr, list[Expr], list[Expr]]:
        """A round: whether to go on, the carried values, the rows that are collected."""
        found = self.body.run((number, self.build.constant(True, "bool"), *values))
        return found[0], found[1 : 1 + len(values)], found[1 + len(values) :]

    def goes_on(self, number: Expr) -> bool | None:
        """Whether there is a round behind a round; None where that is known at run time only."""
        with self.build.scope():
            condition, _, _ = self.outputs(number, self.carried)
        if not isinstance(condition, Constant):
            return None
        return bool(known_scalar(condition, "the condition of the loop"))


def translate_loop(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """A loop: round by round if the number of rounds is known, else as a recursive function."""
    body = enter(node.graph("body"))
    carried = [node.input(index) for index in range(2, len(node.inputs))]
    loop = _Loop(build, node.optional(0), node.optional(1), carried, body)
    if loop.collected < 0 or body.input_count != len(carried) + 2:
        raise ModelError("the body of the loop does not fit the values that it carries.")
    if _is_known(loop):
        return _written_out(loop)
    body.bind_captured()
    if loop.collected == 0:
        return open_loop(build, loop.limit, loop.condition, carried, body.run)
    begins = loop.condition is None or isinstance(loop.condition, Constant)
    if loop.limit is not None and begins and loop.goes_on(variable("round", ROUND_TYPE)):
        return _counted(loop, loop.limit)
    return _growing(loop)


def _is_known(loop: _Loop) -> bool:
    """Whether a loop can be written out: rounds and conditions are constants, and are few."""
    for each in (loop.limit, loop.condition):
        if each is not None and not isinstance(each, Constant):
            return False
    if loop.limit is not None and not loop.body.can_be_unrolled(_limit(loop)):
        return loop.goes_on(variable("round", ROUND_TYPE)) is not True
    return loop.goes_on(loop.build.constant(0, "int64")) is not None


def _limit(loop: _Loop) -> int:
    return 0 if loop.limit is None else int(known_scalar(loop.limit, "the trip count"))


def _written_out(loop: _Loop) -> Sequence[Expr]:
    condition, carried = loop.condition, loop.carried
    scanned: list[list[Expr]] = [[] for _ in range(loop.collected)]
    rounds = 0
    while (loop.limit is None or rounds < _limit(loop)) and _goes_on(condition):
        rounds += 1
        check_unrolled(rounds, loop.body)
        number = loop.build.constant(rounds - 1, "int64")
        condition, carried, rows = loop.outputs(number, carried)
        for row, value in zip(scanned, rows, strict=True):
            row.append(value)
    if not rounds and scanned:
        return [*carried, *(stack for stack, _ in _no_rows(loop))]
    stack = loop.build.call
    return [*carried, *(stack("stack", loop.build.tuple_of(row), axis=0) for row in scanned)]


def _goes_on(condition: Expr | None) -> bool:
    return condition is None or bool(known_scalar(condition, "the condition of the loop"))


def _no_rows(loop: _Loop) -> list[tuple[Expr, tuple[Dim, ...]]]:
    """Results of a loop without any round: tensors without rows, and the shape of others."""
    with loop.build.scope():
        _, _, rows = loop.outputs(variable("round", ROUND_TYPE), loop.carried)
        types = [tensor_type(row) for row in rows]
    empty = []
    for type_ in types:
        sizes = [0 if isinstance(dim, UnknownDim) else dim for dim in type_.shape]
        stack = filled_to_sizes(loop.build, 0, type_.dtype, (0, *sizes))
        empty.append((stack, (UNKNOWN, *type_.shape)))
    return empty


def _counted(loop: _Loop, limit: Expr) -> list[Expr]:
    """A loop that ends at its limit only."""

    def step(number: Expr, values: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
        _, carried, rows = loop.outputs(number, values)
        return carried, rows

    build = loop.build
    condition = loop.condition
    if isinstance(condition, Constant) and not _goes_on(condition):
        limit = build.constant(0, "int64")
    carried, rows = collected_rounds(build, scalar(build, limit), loop.carried, step)
    count = known_dims(build, limit)
    if count is not None:
        rows = [build.with_shape(row, (count[0], *shape_of(row)[1:])) for row in rows]
    return [*carried, *rows]


def _growing(loop: _Loop) -> list[Expr]:
    """A loop that may end in any round: what it collects is carried, and grows."""
    build, count = loop.build, len(loop.carried)

    def body(arguments: Sequence[Expr | None]) -> list[Expr]:
        values = [each for each in arguments[2:] if each is not None]
        outputs = loop.body.run((*arguments[:2], *values[:count]))
        stacks = zip(values[count:], outputs[1 + count :], strict=True)
        grown = [_grown(build, arguments[0], stack, row) for stack, row in stacks]
        return [*outputs[: 1 + count], *grown]

    stacks = [build.with_shape(stack, shape) for stack, shape in _no_rows(loop)]
    return open_loop(build, loop.limit, loop.condition, [*loop.carried, *stacks], body)


def _grown(build: Builder, number: Expr | None, stack: Expr, row: Expr) -> Expr:
    """A stack with one more row; the first row where no other tells how long rows are."""
    first = build.call("expand_dims", row, axis=0)
    if number is None or not any(isinstance(dim, UnknownDim) for dim in shape_of(row)):
        return build.call("concatenate", build.tuple_of([stack, first]), axis=0)
    type_ = TensorType((UNKNOWN, *shape_of(row)), dtype_of(row))
    branches = []
    for parts in ((first,), (stack, first)):
        with build.scope() as binding:
            joined = build.call("concatenate", build.tuple_of(parts), axis=0)
            branches.append(binding(build.with_shape(joined, type_.shape)))
    is_first = build.call("equal", number, build.like(0, number))
    return If(is_first, branches[0], branches[1], type=type_)
