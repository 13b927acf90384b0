"""Recurrent networks of ONNX: written out step by step, or a function where the length is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
    static_shape,
)
from relay_tune.frontend.onnx_import.collected_rounds import collected_rounds
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    Size,
    are_known,
    axis_size,
    dims_of,
    filled_to_sizes,
    is_zero,
    known_size,
    reshape_to_sizes,
    size_value,
    with_size,
)
from relay_tune.frontend.onnx_import.operators.recurrent_cells import (
    CELLS,
    Cell,
    State,
    activations_of,
)
from relay_tune.frontend.onnx_import.operators.reshape import reshape_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import checked_below
from relay_tune.ir.expr import Constant, Expr
from relay_tune.quick_dataclass import dataclass

MAXIMUM_STEPS = 2048

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


@dataclass(frozen=True, slots=True)
class _Sequence:
    """The input as [time, batch, features], and how long each row of the batch is."""

    data: Expr
    steps: Size
    batch: Size
    lengths: Expr | None
    batch_first: bool

    @property
    def few(self) -> int:
        """How many steps are written out; 0 where the steps run in a function."""
        steps = self.steps if isinstance(self.steps, int) and isinstance(self.batch, int) else 0
        return steps if steps <= MAXIMUM_STEPS else 0


def translate_recurrent(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """RNN, GRU or LSTM: all outputs, the last output, and the last cell state (LSTM)."""
    batch_first = node.flag("layout", 0)
    sequence = _sequence(node, build, batch_first)
    directions = _DIRECTIONS.get(node.text("direction", "forward"))
    if directions is None:
        raise ModelError("attribute direction must be forward, reverse or bidirectional.")
    if static_shape(node.input(1))[0] != len(directions):
        raise ModelError(f"the weights are not made for {len(directions)} direction(s).")
    outputs: list[list[Expr]] = []
    finals: list[State] = []
    for index, backwards in enumerate(directions):
        cell = _cell(node, build, index, len(directions))
        start = _initial_state(node, build, sequence, index, batch_first)
        if sequence.few:
            rows, final = _run(build, cell, sequence, start, backwards)
        else:
            rows, final = _run_as_function(build, cell, sequence, start, backwards)
        outputs.append(rows)
        finals.append(_of_rows_with_steps(build, sequence, final))
    return _packed(node, build, sequence, outputs, finals)


def _sequence(node: OnnxNode, build: Builder, batch_first: bool) -> _Sequence:
    data = node.input(0)
    if rank_of(data) != 3:
        raise ModelError(f"expects 3 dimensions, but the input has {rank_of(data)}.")
    data = with_size(build, data, 2, static_shape(node.input(1))[-1])
    if batch_first:
        data = build.call("transpose", data, axes=(1, 0, 2))
    steps, batch = known_size(build, data, 0), known_size(build, data, 1)
    if isinstance(steps, int) and steps == 0:
        raise UnsupportedOperatorError("a sequence of 0 steps is not supported.")
    lengths = node.optional(4)
    if isinstance(steps, int) and isinstance(lengths, Constant) and np.all(lengths.data == steps):
        lengths = None
    if lengths is not None and not isinstance(lengths, Constant):
        limit = build.call("add", axis_size(build, data, 0), build.constant(1))
        lengths = build.once(checked_below(build, lengths, limit))
    return _Sequence(data, steps, batch, lengths, batch_first)


def _part(build: Builder, stack: Expr, index: int, axis: int = 0) -> Expr:
    """One slice of a stack, without the axis."""
    return build.call("take", stack, build.constant(index, "int64"), axis=axis)


def _cell(node: OnnxNode, build: Builder, index: int, directions: int) -> Cell:
    hidden = static_shape(node.input(2))[-1]
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[node.operator]
    if node.integer("hidden_size", hidden) != hidden:
        raise ModelError(f"attribute hidden_size differs from {hidden}, the size of the weights.")
    if static_shape(node.input(1))[1] != gates * hidden:
        raise ModelError(f"the weights do not hold {gates} gates of size {hidden}.")
    bias, peepholes = node.optional(3), node.optional(7) if node.operator == "LSTM" else None
    return Cell(
        build=build,
        hidden=hidden,
        input_weight=_part(build, node.input(1), index),
        state_weight=_part(build, node.input(2), index),
        bias=None if bias is None else _part(build, bias, index),
        peepholes=None if peepholes is None else _part(build, peepholes, index),
        activations=activations_of(node, index, directions),
        clip=node.number("clip", 0.0),
        couple_gates=node.flag("input_forget", 0),
        reset_after=node.flag("linear_before_reset", 0),
    )


def _initial_state(
    node: OnnxNode, build: Builder, sequence: _Sequence, index: int, batch_first: bool
) -> State:
    hidden = static_shape(node.input(2))[-1]
    count = 2 if node.operator == "LSTM" else 1
    states = []
    for given in (node.optional(5), node.optional(6))[:count]:
        if given is None:
            dtype = dtype_of(sequence.data)
            states.append(filled_to_sizes(build, 0, dtype, (sequence.batch, hidden)))
        else:
            states.append(_part(build, given, index, 1 if batch_first else 0))
    return tuple(states)


def _run(
    build: Builder, cell: Cell, sequence: _Sequence, state: State, backwards: bool
) -> tuple[list[Expr], State]:
    """The outputs of all steps, in the order of time, and the last state."""
    step = CELLS[len(state), cell.gates]
    projected = _projected(build, cell, sequence)
    (batch,) = (static_dim(dim) for dim in dims_of([sequence.batch]))
    rows: list[Expr] = []
    times = range(sequence.few)
    for time in reversed(times) if backwards else times:
        now = cell.slice(projected, time * batch, (time + 1) * batch, 0)
        new = step(cell, now, state)
        row, state = _masked(build, sequence, build.constant(time, "int64"), new, state)
        rows.append(row)
    return (rows[::-1] if backwards else rows), state


def _run_as_function(
    build: Builder, cell: Cell, sequence: _Sequence, state: State, backwards: bool
) -> tuple[list[Expr], State]:
    """The same where only a run knows the length or the batch, or there are many steps.

    The outputs are one tensor: [time, batch, hidden]. Where the state is zero in the beginning,
    the first step has no products with it.
    """
    step = CELLS[len(state), cell.gates]
    inputs = build.once(_projected_steps(build, cell, sequence))
    count = size_value(build, sequence.steps)
    last = build.once(build.call("subtract", count, build.constant(1, "int64")))

    def one(number: Expr, values: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
        time = build.call("subtract", last, number) if backwards else number
        now = build.call("take", inputs, time, axis=0)
        new = step(cell, now, tuple(values))
        row, after = _masked(build, sequence, time, new, tuple(values))
        return after, [row]

    def of_zeros(number: Expr, _: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
        zeros = build.filled((1, cell.hidden), 0, dtype_of(sequence.data))
        return one(number, [zeros] * len(state))

    first = of_zeros if all(is_zero(build, each) for each in state) else None
    after, (rows,) = collected_rounds(build, count, state, one, first)
    rows = build.call("reverse", rows, axis=0) if backwards else rows
    dims = dims_of((sequence.steps, sequence.batch, cell.hidden))
    return [build.with_shape(rows, dims)], tuple(after)


def _projected_steps(build: Builder, cell: Cell, sequence: _Sequence) -> Expr:
    """The products of all inputs with the weights: [time, batch, gates * hidden].

    Where both are open, no reshape is: it would copy them.
    """
    if not isinstance(sequence.steps, int) and not isinstance(sequence.batch, int):
        return cell.projected(sequence.data)
    shape = (sequence.steps, sequence.batch, cell.gates * cell.hidden)
    flat, dims = _projected(build, cell, sequence), dims_of(shape)
    known = are_known(dims)
    return reshape_to(build, flat, dims) if known else reshape_to_sizes(build, flat, shape)


def _projected(build: Builder, cell: Cell, sequence: _Sequence) -> Expr:
    """The products of all inputs with the weights: [time * batch, gates * hidden]."""
    features = static_dim(shape_of(sequence.data)[2])
    return cell.projected(build.call("reshape", sequence.data, newshape=(-1, features)))


def _masked(
    build: Builder, sequence: _Sequence, time: Expr, new: State, old: State
) -> tuple[Expr, State]:
    """The output and the state of a step: 0 and the old one for rows that have ended before."""
    if sequence.lengths is None:
        return new[0], new
    time = build.call("cast", time, dtype=dtype_of(sequence.lengths))
    longer = build.call("greater", sequence.lengths, time)
    within = build.call("expand_dims", longer, axis=1)
    row = build.call("where", within, new[0], build.like(0, new[0]))
    return row, tuple(build.call("where", within, a, b) for a, b in zip(new, old, strict=True))


def _of_rows_with_steps(build: Builder, sequence: _Sequence, final: State) -> State:
    """The last state, which is 0 for rows without a step, as onnxruntime has it."""
    lengths = sequence.lengths
    if lengths is None or (isinstance(lengths, Constant) and np.all(lengths.data > 0)):
        return final
    has_steps = build.call("greater", lengths, build.like(0, lengths))
    has_steps = build.call("expand_dims", has_steps, axis=1)
    return tuple(build.call("where", has_steps, s, build.like(0, s)) for s in final)


def _packed(
    node: OnnxNode,
    build: Builder,
    sequence: _Sequence,
    outputs: list[list[Expr]],
    finals: list[State],
) -> list[Expr | None]:
    """The outputs of ONNX: [time, direction, batch, hidden] and [direction, batch, hidden]."""
    results: list[Expr | None] = [None]
    if node.wants(0):
        results[0] = _all_steps(build, sequence, outputs)
    for index in range(len(finals[0])):
        last = [final[index] for final in finals]
        results.append(
            build.call("stack", build.tuple_of(last), axis=1 if sequence.batch_first else 0)
        )
    if sequence.batch_first and results[0] is not None:
        results[0] = build.call("transpose", results[0], axes=(2, 0, 1, 3))
    return results


def _all_steps(build: Builder, sequence: _Sequence, outputs: list[list[Expr]]) -> Expr:
    """The outputs of each direction as [time, direction, batch, hidden]."""
    if not sequence.few:
        stacks = [stack for (stack,) in outputs]
        if len(stacks) == 1:
            return build.call("expand_dims", stacks[0], axis=1)
        return build.call("stack", build.tuple_of(stacks), axis=1)
    rows = [row for now in zip(*outputs, strict=True) for row in now]
    batch, hidden = static_shape(rows[0])
    joined = build.call("concatenate", build.tuple_of(rows), axis=0) if rows[1:] else rows[0]
    return build.call("reshape", joined, newshape=(-1, len(outputs), batch, hidden))


RECURRENT: Mapping[str, Translator] = {
    "RNN": translate_recurrent,
    "GRU": translate_recurrent,
    "LSTM": translate_recurrent,
}
