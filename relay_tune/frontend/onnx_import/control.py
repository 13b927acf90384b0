"""Control flow: branches that are known are taken, loops of known length are written out.

Others become branches and recursive functions of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    known_scalar,
    shape_of,
    static_dim,
    tensor_type,
    type_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_loop import open_loop
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Constant, Expr, If
from relay_tune.ir.types import TensorType, TupleType, Type

MAXIMUM_UNROLLED_NODES = 16_384


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A body: how many nodes, inputs and outputs it has, and `run`, which translates it anew."""

    size: int
    input_count: int
    output_count: int
    run: Callable[[Sequence[Expr | None]], list[Expr]]


Enter = Callable[[GraphProto], Subgraph]
ControlTranslator = Callable[[OnnxNode, Builder, Enter], Sequence[Expr | None]]


def translate_if(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """A known condition takes its branch; another becomes an `if` of the language."""
    condition = node.input(0)
    branches = enter(node.graph("then_branch")), enter(node.graph("else_branch"))
    if isinstance(condition, Constant):
        return branches[0 if known_scalar(condition, "the condition") else 1].run(())
    if shape_of(condition):
        condition = build.call("reshape", condition, newshape=())
    then, other = branches[0].run(()), branches[1].run(())
    if len(then) != len(other) or not then:
        raise ModelError(f"the branches have {len(then)} and {len(other)} outputs.")
    types = tuple(_common_type(type_of(a), type_of(b)) for a, b in zip(then, other, strict=True))
    if len(then) == 1:
        return [If(condition, then[0], other[0], type=types[0])]
    both = build.tuple_of(then), build.tuple_of(other)
    result = If(condition, *both, type=TupleType(types))
    return [build.item(result, place) for place in range(len(then))]


def _common_type(left: Type, right: Type) -> Type:
    if left == right:
        return left
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        raise UnsupportedOperatorError("the branches give values of different kinds.")
    if left.dtype != right.dtype:
        raise ModelError(f"the branches give {left.dtype} and {right.dtype}.")
    if len(left.shape) != len(right.shape):
        raise UnsupportedOperatorError("the branches give different numbers of dimensions.")
    pairs = zip(left.shape, right.shape, strict=True)
    return TensorType(tuple(a if a == b else UNKNOWN for a, b in pairs), left.dtype)


def translate_loop(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """A loop: round by round if the number of rounds is known, else as a recursive function."""
    body = enter(node.graph("body"))
    carried = [node.input(place) for place in range(2, len(node.inputs))]
    scanned_count = body.output_count - 1 - len(carried)
    if scanned_count < 0 or body.input_count != len(carried) + 2:
        raise ModelError("the body of the loop does not fit the values that it carries.")
    limit, condition = node.optional(0), node.optional(1)
    if any(each is not None and not isinstance(each, Constant) for each in (limit, condition)):
        return _open_loop(node, build, carried, body, scanned_count)
    return _written_out(node, build, carried, body, scanned_count)


def _open_loop(
    node: OnnxNode, build: Builder, carried: Sequence[Expr], body: Subgraph, scanned_count: int
) -> Sequence[Expr]:
    if scanned_count:
        raise UnsupportedOperatorError(
            "the loop collects a value of each round, but the number of its rounds is known at "
            "run time only.",
            notes=("Values that are carried from round to round may be used after such a loop.",),
            remedy="Bind the inputs that it depends on with from_onnx(model, constants=...).",
        )
    return open_loop(build, node.optional(0), node.optional(1), carried, body.run)


def _written_out(
    node: OnnxNode, build: Builder, carried: Sequence[Expr], body: Subgraph, scanned_count: int
) -> Sequence[Expr]:
    given, condition = node.optional(0), node.optional(1)
    limit = None if given is None else int(known_scalar(given, "the trip count"))
    scanned: list[list[Expr]] = [[] for _ in range(scanned_count)]
    rounds = 0
    while (limit is None or rounds < limit) and _goes_on(condition):
        rounds += 1
        _check_unrolled(rounds, body)
        number = build.constant(rounds - 1, "int64")
        outputs = body.run((number, build.constant(True, "bool"), *carried))
        if rounds == 1 and not isinstance(outputs[0], Constant):
            return _open_loop(node, build, carried, body, scanned_count)
        condition, carried = outputs[0], outputs[1 : 1 + len(carried)]
        for row, value in zip(scanned, outputs[1 + len(carried) :], strict=True):
            row.append(value)
    if any(not row for row in scanned):
        raise UnsupportedOperatorError("a loop without any round has outputs of unknown shape.")
    return [*carried, *(build.call("stack", build.tuple_of(row), axis=0) for row in scanned)]


def _goes_on(condition: Expr | None) -> bool:
    return condition is None or bool(known_scalar(condition, "the condition of the loop"))


def _check_unrolled(rounds: int, body: Subgraph) -> None:
    if rounds * (body.size + 1) > MAXIMUM_UNROLLED_NODES:
        raise UnsupportedOperatorError(
            f"the loop is too long to be written out: more than {rounds - 1} rounds of "
            f"{body.size} nodes."
        )


def translate_scan(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """A scan over sequences of known length, written out step by step (opset 9 and newer)."""
    if node.opset < 9:
        raise UnsupportedOperatorError("Scan is supported from version 9 of the operator set.")
    body = enter(node.graph("body"))
    count = node.integer("num_scan_inputs")
    state_count = len(node.inputs) - count
    output_count = body.output_count - state_count
    if count < 1 or state_count < 0 or output_count < 0 or body.input_count != len(node.inputs):
        raise ModelError("the body of the scan does not fit its inputs.")
    state = [node.input(place) for place in range(state_count)]
    sequences = [node.input(place) for place in range(state_count, len(node.inputs))]
    steps = _steps(node, build, sequences)
    if not steps:
        raise UnsupportedOperatorError("a scan over nothing has outputs of unknown shape.")
    _check_unrolled(len(steps), body)
    rows: list[list[Expr]] = [[] for _ in range(output_count)]
    for elements in steps:
        outputs = body.run((*state, *elements))
        state = outputs[:state_count]
        for row, value in zip(rows, outputs[state_count:], strict=True):
            row.append(value)
    return [*state, *_collected(node, build, rows)]


def _steps(node: OnnxNode, build: Builder, sequences: Sequence[Expr]) -> list[list[Expr]]:
    """The elements of all sequences, step by step."""
    axes = node.integers("scan_input_axes", (0,) * len(sequences))
    directions = node.integers("scan_input_directions", (0,) * len(sequences))
    columns = []
    for sequence, axis, direction in zip(sequences, axes, directions, strict=True):
        axis = checked_axis(axis, len(tensor_type(sequence).shape))
        length = static_dim(shape_of(sequence)[axis])
        if length > MAXIMUM_UNROLLED_NODES:
            raise UnsupportedOperatorError(f"a scan over {length} elements cannot be written out.")
        order = range(length - 1, -1, -1) if direction else range(length)
        columns.append([_element(build, sequence, place, axis) for place in order])
    if len({len(column) for column in columns}) != 1:
        raise ModelError("the scanned sequences have different lengths.")
    return [list(step) for step in zip(*columns, strict=True)]


def _element(build: Builder, sequence: Expr, place: int, axis: int) -> Expr:
    return build.call("take", sequence, build.constant(place, "int64"), axis=axis)


def _collected(node: OnnxNode, build: Builder, rows: Sequence[list[Expr]]) -> list[Expr]:
    axes = node.integers("scan_output_axes", (0,) * len(rows))
    directions = node.integers("scan_output_directions", (0,) * len(rows))
    return [
        build.call("stack", build.tuple_of(row[::-1] if direction else row), axis=axis)
        for row, axis, direction in zip(rows, axes, directions, strict=True)
    ]


CONTROL_OPERATORS: Mapping[str, ControlTranslator] = {
    "If": translate_if,
    "Loop": translate_loop,
    "Scan": translate_scan,
}
"""The operators that hold subgraphs."""
