"""One step of each recurrent cell of ONNX, in the notation of the standard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, shape_of, static_shape
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import (
    elu,
    hard_sigmoid,
    leaky_relu,
    relu,
    scaled,
    shifted,
    softplus,
    softsign,
    thresholded_relu,
)
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

State = tuple[Expr, ...]
"""The hidden state, and the cell state of an LSTM; each of shape [batch, hidden]."""

Activation = Callable[[Builder, Expr], Expr]


@dataclass(frozen=True, slots=True)
class Cell:
    """The weights and attributes of one direction.

    Attributes:
        build: makes expressions.
        hidden: the size of the hidden state.
        input_weight: [gates * hidden, features].
        state_weight: [gates * hidden, hidden].
        bias: [2 * gates * hidden], those of the input and then those of the state; or None.
        peepholes: [3 * hidden] for the input, output and forget gate of an LSTM; or None.
        activations: the functions f, g, h of the standard.
        clip: the arguments of activations are limited to [-clip, clip]; 0 for no limit.
        couple_gates: LSTM: the forget gate is 1 - input gate.
        reset_after: GRU: the reset gate is applied after the product with the weights.

    Parts of weights are made once, so that all steps read the same constants.
    """

    build: Builder
    hidden: int
    input_weight: Expr
    state_weight: Expr
    bias: Expr | None
    peepholes: Expr | None
    activations: tuple[Activation, ...]
    clip: float
    couple_gates: bool
    reset_after: bool
    _parts: dict[tuple[Expr, int, int], Expr] = field(default_factory=dict)

    @property
    def gates(self) -> int:
        """How many gates the weights hold."""
        return static_shape(self.input_weight)[0] // self.hidden

    def projected(self, rows: Expr) -> Expr:
        """[rows, features] to the products with the weights, plus the bias: [rows, gates * hidden].

        The bias of the state is in it too, unless a gate is applied to the state's product.
        """
        product = self.build.call("nn.dense", rows, self.input_weight)
        if self.bias is None:
            return product
        width = self.gates * self.hidden
        bias = self.part(self.bias, 0, width)
        if not self.reset_after:
            bias = self.add(bias, self.part(self.bias, width, 2 * width))
        return self.add(product, bias)

    def recurrent(self, state: Expr, first: int, last: int) -> Expr:
        """The product of the state with the weights of gates [first, last).

        With `reset_after` the bias of the state is added.
        """
        begin, end = first * self.hidden, last * self.hidden
        product = self.build.call("nn.dense", state, self.part(self.state_weight, begin, end))
        if self.bias is None or not self.reset_after:
            return product
        width = self.gates * self.hidden
        return self.add(product, self.part(self.bias, width + begin, width + end))

    def part(self, weights: Expr, begin: int, end: int) -> Expr:
        """Rows [begin, end) of weights, as one expression for all steps."""
        key = (weights, begin, end)
        if key not in self._parts:
            self._parts[key] = self.slice(weights, begin, end, 0)
        return self._parts[key]

    def slice(self, data: Expr, begin: int, end: int, axis: int) -> Expr:
        """A part of one axis."""
        if (begin, end) == (0, shape_of(data)[axis]):
            return data
        return part(self.build, data, axis, begin, end)

    def gate(self, data: Expr, place: int) -> Expr:
        """[batch, gates * hidden] to the part of one gate: [batch, hidden]."""
        return self.slice(data, place * self.hidden, (place + 1) * self.hidden, 1)

    def activate(self, function: int, data: Expr) -> Expr:
        """An activation of the limited argument."""
        if self.clip > 0:
            data = self.build.call("maximum", data, self.build.like(-self.clip, data))
            data = self.build.call("minimum", data, self.build.like(self.clip, data))
        return self.activations[function](self.build, data)

    def add(self, left: Expr, right: Expr) -> Expr:
        """left + right."""
        return self.build.call("add", left, right)

    def multiply(self, left: Expr, right: Expr) -> Expr:
        """left * right."""
        return self.build.call("multiply", left, right)

    def one_minus(self, data: Expr) -> Expr:
        """1 - data."""
        return self.build.call("subtract", self.build.like(1, data), data)

    def peep(self, total: Expr, cell_state: Expr, place: int) -> Expr:
        """`total` plus the cell state times the peephole weights of a gate."""
        if self.peepholes is None:
            return total
        begin = place * self.hidden
        weights = self.part(self.peepholes, begin, begin + self.hidden)
        return self.add(total, self.multiply(cell_state, weights))


def rnn_step(cell: Cell, projected: Expr, state: State) -> State:
    """H' = f(x W + H R + b)."""
    total = cell.add(projected, cell.recurrent(state[0], 0, 1))
    return (cell.activate(0, total),)


def gru_step(cell: Cell, projected: Expr, state: State) -> State:
    """Gates z (update), r (reset), h (hidden); H' = (1 - z) h + z H."""
    (hidden,) = state
    product = cell.recurrent(hidden, 0, 3 if cell.reset_after else 2)
    update, reset = (
        cell.activate(0, cell.add(cell.gate(projected, index), cell.gate(product, index)))
        for index in range(2)
    )
    if cell.reset_after:
        inner = cell.multiply(reset, cell.gate(product, 2))
    else:
        inner = cell.recurrent(cell.multiply(reset, hidden), 2, 3)
    new = cell.activate(1, cell.add(cell.gate(projected, 2), inner))
    kept = cell.multiply(update, hidden)
    return (cell.add(cell.multiply(cell.one_minus(update), new), kept),)


def lstm_step(cell: Cell, projected: Expr, state: State) -> State:
    """Gates i, o, f, c; C' = f C + i c; H' = o h(C')."""
    hidden, old = state
    total = cell.add(projected, cell.recurrent(hidden, 0, 4))
    entering = cell.activate(0, cell.peep(cell.gate(total, 0), old, 0))
    if cell.couple_gates:
        forget = cell.one_minus(entering)
    else:
        forget = cell.activate(0, cell.peep(cell.gate(total, 2), old, 2))
    candidate = cell.activate(1, cell.gate(total, 3))
    new = cell.add(cell.multiply(forget, old), cell.multiply(entering, candidate))
    leaving = cell.activate(0, cell.peep(cell.gate(total, 1), new, 1))
    return cell.multiply(leaving, cell.activations[2](cell.build, new)), new


CELLS: Mapping[tuple[int, int], Callable[[Cell, Expr, State], State]] = {
    (1, 1): rnn_step,
    (1, 3): gru_step,
    (2, 4): lstm_step,
}
"""The step by the number of states and of gates."""

_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}

_PLAIN: Mapping[str, Activation] = {
    "Relu": relu,
    "Tanh": lambda build, data: build.call("tanh", data),
    "Sigmoid": lambda build, data: build.call("sigmoid", data),
    "Softsign": softsign,
    "Softplus": softplus,
}

_WITH_ALPHA: Mapping[str, tuple[float, Callable[[Builder, Expr, float], Expr]]] = {
    "LeakyRelu": (0.01, leaky_relu),
    "ThresholdedRelu": (1.0, thresholded_relu),
    "Elu": (1.0, elu),
}

_WITH_BOTH: Mapping[str, tuple[float, float, Callable[[Builder, Expr, float, float], Expr]]] = {
    "HardSigmoid": (0.2, 0.5, hard_sigmoid),
    "Affine": (1.0, 0.0, lambda build, data, a, b: shifted(build, scaled(build, data, a), b)),
    "ScaledTanh": (
        1.0,
        1.0,
        lambda build, data, a, b: scaled(build, build.call("tanh", scaled(build, data, b)), a),
    ),
}


def activations_of(node: OnnxNode, place: int, directions: int) -> tuple[Activation, ...]:
    """The activation functions of one direction, with their parameters."""
    defaults = _DEFAULTS[node.operator]
    names = node.texts("activations", defaults * directions)
    if len(names) != len(defaults) * directions:
        raise ModelError(f"{len(names)} activations are given for {directions} direction(s).")
    alphas, betas = (
        iter(node.numbers("activation_alpha", ())),
        iter(node.numbers("activation_beta", ())),
    )
    functions = [_activation(name, alphas, betas) for name in names]
    return tuple(functions[place * len(defaults) : (place + 1) * len(defaults)])


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    """A function by name; it consumes the parameters that it takes."""
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _WITH_ALPHA:
        default, function = _WITH_ALPHA[name]
        alpha = next(alphas, default)
        return lambda build, data: function(build, data, alpha)
    if name in _WITH_BOTH:
        first, second, binary = _WITH_BOTH[name]
        a, b = next(alphas, first), next(betas, second)
        return lambda build, data: binary(build, data, a, b)
    raise ModelError(f"the activation {name!r} is not known.")
