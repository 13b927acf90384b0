"""Recurrent layers written out step by step: LSTM and GRU.

The projections of all inputs are one product; only the product with the state is in the chain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relay_tune.ir.expr import Constant, Expr, Tuple, TupleGetItem, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.arithmetic import add, multiply, subtract
from relay_tune.op.joining import concatenate, split
from relay_tune.op.math import sigmoid, tanh
from relay_tune.op.nn.bias import bias_add
from relay_tune.op.nn.matmul import dense
from relay_tune.op.shape import reshape
from relay_tune.quick_dataclass import dataclass
from relay_tune.zoo.layers import network
from relay_tune.zoo.weights import Array, Weights

LSTM_GATES = 4
GRU_GATES = 3


@dataclass(frozen=True, slots=True)
class RecurrentSizes:
    """Length of the sequence, features of the input and of the state."""

    steps: int
    inputs: int
    hidden: int


FULL = RecurrentSizes(100, 512, 512)
SMALL = RecurrentSizes(5, 12, 8)


@dataclass(frozen=True, slots=True)
class RecurrentWeights:
    """The weights of a layer; gates are stacked, each `hidden` rows.

    LSTM: input, output, forget, candidate. GRU: update, reset, candidate (whose reset gate is
    applied after the product with the state).

    Attributes:
        inputs: [gates * hidden, inputs]
        state: [gates * hidden, hidden]
        input_bias: [gates * hidden]
        state_bias: [gates * hidden]
    """

    inputs: Array
    state: Array
    input_bias: Array
    state_bias: Array


def recurrent_weights(weights: Weights, sizes: RecurrentSizes, gates: int) -> RecurrentWeights:
    """Uniform weights of the size that keeps gates in their middle."""
    rows, bound = gates * sizes.hidden, 1 / float(np.sqrt(sizes.hidden))
    return RecurrentWeights(
        inputs=weights.uniform((rows, sizes.inputs), -bound, bound),
        state=weights.uniform((rows, sizes.hidden), -bound, bound),
        input_bias=weights.uniform((rows,), -bound, bound),
        state_bias=weights.uniform((rows,), -bound, bound),
    )


def lstm(weights: Weights, batch: int, small: bool) -> Module:
    """`data` [steps, batch, inputs] to the states of all steps [steps, batch, hidden]."""
    sizes = SMALL if small else FULL
    values = recurrent_weights(weights, sizes, LSTM_GATES)
    state_weight = constant(values.state)
    bias = constant(values.input_bias + values.state_bias)

    def step(projected: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
        hidden, cell = states
        gates = split(add(projected, dense(hidden, state_weight)), indices_or_sections=4, axis=1)
        entering, leaving, kept = (sigmoid(TupleGetItem(gates, index)) for index in range(3))
        candidate = tanh(TupleGetItem(gates, 3))
        new_cell = add(multiply(kept, cell), multiply(entering, candidate))
        return multiply(leaving, tanh(new_cell)), new_cell

    zero = _zeros(batch, sizes)
    return _unrolled(sizes, batch, (values.inputs, bias), (zero, zero), step)


def gru(weights: Weights, batch: int, small: bool) -> Module:
    """`data` [steps, batch, inputs] to the states of all steps [steps, batch, hidden]."""
    sizes = SMALL if small else FULL
    values = recurrent_weights(weights, sizes, GRU_GATES)
    state_weight, state_bias = constant(values.state), constant(values.state_bias)

    def step(projected: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
        (hidden,) = states
        remembered = bias_add(dense(hidden, state_weight), state_bias, axis=-1)
        new = split(projected, indices_or_sections=3, axis=1)
        old = split(remembered, indices_or_sections=3, axis=1)
        update, reset = (
            sigmoid(add(TupleGetItem(new, index), TupleGetItem(old, index))) for index in range(2)
        )
        past = multiply(reset, TupleGetItem(old, 2))
        candidate = tanh(add(TupleGetItem(new, 2), past))
        kept = multiply(update, hidden)
        return (add(multiply(subtract(constant(1.0), update), candidate), kept),)

    bias = constant(values.input_bias)
    return _unrolled(sizes, batch, (values.inputs, bias), (_zeros(batch, sizes),), step)


def _zeros(batch: int, sizes: RecurrentSizes) -> Constant:
    return constant(np.zeros((batch, sizes.hidden), np.float32))


def _unrolled(
    sizes: RecurrentSizes,
    batch: int,
    projection: tuple[Array, Constant],
    states: tuple[Expr, ...],
    step: Callable[[Expr, tuple[Expr, ...]], tuple[Expr, ...]],
) -> Module:
    """The layer over all steps; the first of the states is the output of a step."""
    data = Var("data", TensorType((sizes.steps, batch, sizes.inputs), "float32"))
    weight, bias = projection
    rows = reshape(data, newshape=(sizes.steps * batch, sizes.inputs))
    projected = bias_add(dense(rows, constant(weight)), bias, axis=-1)
    parts = split(projected, indices_or_sections=sizes.steps, axis=0)
    outputs: list[Expr] = []
    for index in range(sizes.steps):
        states = step(TupleGetItem(parts, index), states)
        outputs.append(states[0])
    joined = concatenate(Tuple(tuple(outputs)), axis=0)
    return network((data,), reshape(joined, newshape=(sizes.steps, batch, sizes.hidden)))
