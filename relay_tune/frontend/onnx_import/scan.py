"""Scans: a body that runs on each element of sequences, written out or as a function.

Sequences that are long, or as long as only a run knows, are scanned by a recursive function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, checked_axis, rank_of, shape_of
from relay_tune.frontend.onnx_import.collected_rounds import collected_rounds
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size
from relay_tune.frontend.onnx_import.subgraph import Enter, Subgraph
from relay_tune.ir.dim import Dim
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Sequence:
    """An input that is scanned along an axis, perhaps from its end."""

    data: Expr
    axis: int
    backwards: bool

    @property
    def length(self) -> Dim:
        """How many elements there are."""
        return shape_of(self.data)[self.axis]

    def count(self, build: Builder) -> Expr:
        """How many elements there are, as an int64 scalar."""
        return axis_size(build, self.data, self.axis)

    def element(self, build: Builder, number: Expr) -> Expr:
        """The element of a round (an int64 scalar)."""
        if self.backwards:
            last = build.call("subtract", self.count(build), build.like(1, number))
            number = build.call("subtract", last, number)
        return build.call("take", self.data, number, axis=self.axis)


def translate_scan(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """A scan over sequences, of opset 9 and newer."""
    if node.opset < 9:
        raise UnsupportedOperatorError("Scan is supported from version 9 of the operator set.")
    body = enter(node.graph("body"))
    count = node.integer("num_scan_inputs")
    state_count = len(node.inputs) - count
    output_count = body.output_count - state_count
    if count < 1 or state_count < 0 or output_count < 0 or body.input_count != len(node.inputs):
        raise ModelError("the body of the scan does not fit its inputs.")
    state: Sequence[Expr] = [node.input(index) for index in range(state_count)]
    sequences = _sequences(node, [node.input(n) for n in range(state_count, len(node.inputs))])
    lengths = {sequence.length for sequence in sequences}
    if len({length for length in lengths if isinstance(length, int)}) > 1:
        raise ModelError("the scanned sequences have different lengths.")
    ruler = next((each for each in sequences if isinstance(each.length, int)), sequences[0])
    length = ruler.length
    if isinstance(length, int) and length and body.can_be_unrolled(length):
        state, stacks = _written_out(build, state, sequences, body, length)
    else:
        state, stacks = _as_function(build, state, sequences, body, ruler)
    return [*state, *_arranged(node, build, stacks)]


def _sequences(node: OnnxNode, inputs: Sequence[Expr]) -> list[_Sequence]:
    axes = node.integers("scan_input_axes", (0,) * len(inputs))
    directions = node.integers("scan_input_directions", (0,) * len(inputs))
    return [
        _Sequence(data, checked_axis(axis, rank_of(data)), bool(direction))
        for data, axis, direction in zip(inputs, axes, directions, strict=True)
    ]


def _written_out(
    build: Builder,
    state: Sequence[Expr],
    sequences: Sequence[_Sequence],
    body: Subgraph,
    length: int,
) -> tuple[Sequence[Expr], list[Expr]]:
    rows: list[list[Expr]] = [[] for _ in range(body.output_count - len(state))]
    for step in range(length):
        number = build.constant(step, "int64")
        outputs = body.run((*state, *(each.element(build, number) for each in sequences)))
        for row, value in zip(rows, outputs[len(state) :], strict=True):
            row.append(value)
        state = outputs[: len(state)]
    return state, [build.call("stack", build.tuple_of(row), axis=0) for row in rows]


def _as_function(
    build: Builder,
    state: Sequence[Expr],
    sequences: Sequence[_Sequence],
    body: Subgraph,
    ruler: _Sequence,
) -> tuple[Sequence[Expr], list[Expr]]:
    count = len(state)
    body.bind_captured()
    sequences = [replace(each, data=build.once(each.data)) for each in sequences]

    def step(number: Expr, values: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
        outputs = body.run((*values, *(each.element(build, number) for each in sequences)))
        return outputs[:count], outputs[count:]

    state, stacks = collected_rounds(build, ruler.count(build), state, step)
    return state, [build.with_shape(each, (ruler.length, *shape_of(each)[1:])) for each in stacks]


def _arranged(node: OnnxNode, build: Builder, stacks: Sequence[Expr]) -> list[Expr]:
    """Stacks of rows with the rows along the axes, and in the directions, that are asked for."""
    axes = node.integers("scan_output_axes", (0,) * len(stacks))
    directions = node.integers("scan_output_directions", (0,) * len(stacks))
    results = []
    for stack, axis, direction in zip(stacks, axes, directions, strict=True):
        if direction:
            stack = build.call("reverse", stack, axis=0)
        wanted = checked_axis(axis, rank_of(stack))
        if wanted:
            others = tuple(range(1, rank_of(stack)))
            stack = build.call("transpose", stack, axes=(*others[:wanted], 0, *others[wanted:]))
        results.append(stack)
    return results
