"""Optimisers: updates of parameters as expressions of Relay, which become part of the step.

Each optimiser keeps tensors of the shape of each parameter (its states), which are zero before the
first step. Parameters of 16 bits and their gradients come in float32, and so are their states: a
square of a gradient, or an epsilon, is seldom a number of float16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, SupportsFloat

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.typed import call
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.training.rates import Constant, Rate, number_like
from relay_tune.training.settings import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    require_numbers,
    require_rate,
)


class Optimiser(Protocol):
    """Updates a parameter by its gradient."""

    @property
    def states(self) -> tuple[str, ...]:
        """The names of what is kept for each parameter."""

    def updated(
        self, parameter: Expr, gradient: Expr, states: Sequence[Expr], number: Expr
    ) -> tuple[Expr, tuple[Expr, ...]]:
        """The parameter and its states after step `number`, a scalar from 0 on.

        All are of one element type, float32 or float64, and so must the results be.
        """


@dataclass(frozen=True)
class SGD:
    """Steepest descent, with momentum v = momentum v + g (Sutskever et al., 2013).

    Attributes:
        rate: the learning rate, or a schedule of it.
        momentum: how much of the last change is kept.
        nesterov: whether the gradient is corrected by the change that follows.
        decay: of the squares of parameters, added to the loss.
    """

    rate: float | Rate = 0.01
    momentum: float = 0.0
    nesterov: bool = False
    decay: float = 0.0

    def __post_init__(self) -> None:
        """Raises InputError for numbers with which nothing is trained."""
        require_rate(self.rate, "rate of SGD")
        require_numbers(self, {"momentum": SHARE, "decay": NOT_NEGATIVE})

    @property
    def states(self) -> tuple[str, ...]:
        """The velocity, if there is momentum."""
        return ("velocity",) if self.momentum else ()

    def updated(
        self, parameter: Expr, gradient: Expr, states: Sequence[Expr], number: Expr
    ) -> tuple[Expr, tuple[Expr, ...]]:
        """p - rate v."""
        slope = _decayed(gradient, parameter, self.decay)
        if not self.momentum:
            return _moved(parameter, slope, _rate(self.rate, number)), ()
        velocity = _plus(_times(states[0], self.momentum), slope)
        change = _plus(slope, _times(velocity, self.momentum)) if self.nesterov else velocity
        return _moved(parameter, change, _rate(self.rate, number)), (velocity,)


@dataclass(frozen=True)
class Adam:
    """Adam: D. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1.

    Attributes:
        rate: the learning rate, or a schedule of it.
        first: how much of the mean of gradients is kept.
        second: how much of the mean of their squares is kept.
        epsilon: added to the root of that.
        decay: of the squares of parameters, added to the loss.
    """

    rate: float | Rate = 1e-3
    first: float = 0.9
    second: float = 0.999
    epsilon: float = 1e-8
    decay: float = 0.0
    states: ClassVar[tuple[str, ...]] = ("mean", "square")

    def __post_init__(self) -> None:
        """Raises InputError for numbers with which nothing is trained."""
        require_rate(self.rate, f"rate of {type(self).__name__}")
        require_numbers(
            self, {"first": SHARE, "second": SHARE, "epsilon": POSITIVE, "decay": NOT_NEGATIVE}
        )

    def updated(
        self, parameter: Expr, gradient: Expr, states: Sequence[Expr], number: Expr
    ) -> tuple[Expr, tuple[Expr, ...]]:
        """p - rate m' / (sqrt(v') + epsilon), with means that do not begin at zero."""
        slope = _decayed(gradient, parameter, self.decay)
        return self._moved(parameter, slope, states, number)

    def _moved(
        self, parameter: Expr, slope: Expr, states: Sequence[Expr], number: Expr
    ) -> tuple[Expr, tuple[Expr, ...]]:
        mean = _mixed(states[0], slope, self.first)
        square = _mixed(states[1], call("multiply", slope, slope), self.second)
        count = call("add", number, number_like(1.0, number))
        step = call("divide", _rate(self.rate, number), _reached(self.first, count))
        root = call("sqrt", _reached(self.second, count))
        size = _plus_number(call("divide", call("sqrt", square), root), self.epsilon)
        return _moved(parameter, call("divide", mean, size), step), (mean, square)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose decay shrinks parameters apart from their gradients (Loshchilov, Hutter 2019)."""

    decay: float = 0.01

    def updated(
        self, parameter: Expr, gradient: Expr, states: Sequence[Expr], number: Expr
    ) -> tuple[Expr, tuple[Expr, ...]]:
        """As Adam, of p (1 - rate decay)."""
        shrunk = parameter
        if self.decay:
            change = call("multiply", _rate(self.rate, number), number_like(self.decay, number))
            kept = call("subtract", number_like(1.0, number), change)
            shrunk = call("multiply", parameter, kept)
        return self._moved(shrunk, gradient, states, number)


@dataclass(frozen=True)
class RMSprop:
    """RMSprop: T. Tieleman and G. Hinton, lecture 6.5 of "Neural Networks for Machine Learning".

    Attributes:
        rate: the learning rate, or a schedule of it.
        kept: how much of the mean of squares is kept.
        epsilon: added to the root of that.
        decay: of the squares of parameters, added to the loss.
    """

    rate: float | Rate = 0.01
    kept: float = 0.99
    epsilon: float = 1e-8
    decay: float = 0.0
    states: ClassVar[tuple[str, ...]] = ("square",)

    def __post_init__(self) -> None:
        """Raises InputError for numbers with which nothing is trained."""
        require_rate(self.rate, "rate of RMSprop")
        require_numbers(self, {"kept": SHARE, "epsilon": POSITIVE, "decay": NOT_NEGATIVE})

    def updated(
        self, parameter: Expr, gradient: Expr, states: Sequence[Expr], number: Expr
    ) -> tuple[Expr, tuple[Expr, ...]]:
        """p - rate g / (sqrt(v) + epsilon)."""
        slope = _decayed(gradient, parameter, self.decay)
        square = _mixed(states[0], call("multiply", slope, slope), self.kept)
        size = _plus_number(call("sqrt", square), self.epsilon)
        change = call("divide", slope, size)
        return _moved(parameter, change, _rate(self.rate, number)), (square,)


def clipped(gradients: Sequence[Expr], norm: float) -> list[Expr]:
    """Gradients whose common norm is at most `norm` (Pascanu et al., 2013, algorithm 1).

    Each is of float32 or float64, the norm in the wider one of these.
    """
    wide = max(map(element_type, gradients), key=lambda dtype: numpy_dtype(dtype).itemsize)
    squares = [_sum_of_squares(converted(each, wide)) for each in gradients]
    total = squares[0]
    for square in squares[1:]:
        total = call("add", total, square)
    share = call("divide", number_like(norm, total), _plus_number(call("sqrt", total), 1e-6))
    factor = call("minimum", share, number_like(1.0, share))
    return [call("multiply", each, converted(factor, element_type(each))) for each in gradients]


def converted(value: Expr, dtype: str) -> Expr:
    """A value in an element type."""
    return value if element_type(value) == dtype else call("cast", value, dtype=dtype)


def element_type(value: Expr) -> str:
    """The element type of a tensor."""
    type_ = tensor_type(value)
    assert type_ is not None
    return type_.dtype


def _sum_of_squares(value: Expr) -> Expr:
    return call("sum", call("multiply", value, value), axis=None)


def _rate(rate: float | Rate, number: Expr) -> Expr:
    """The rate of a step; schedules of users may give another element type."""
    chosen = Constant(float(rate)) if isinstance(rate, SupportsFloat) else rate
    return converted(chosen.at(number), element_type(number))


def _moved(parameter: Expr, change: Expr, rate: Expr) -> Expr:
    return call("subtract", parameter, call("multiply", change, rate))


def _decayed(gradient: Expr, parameter: Expr, decay: float) -> Expr:
    return _plus(gradient, _times(parameter, decay)) if decay else gradient


def _mixed(old: Expr, new: Expr, kept: float) -> Expr:
    """kept old + (1 - kept) new."""
    return _plus(_times(old, kept), _times(new, 1.0 - kept))


def _reached(kept: float, count: Expr) -> Expr:
    """The weight of all gradients so far in a mean that began at zero: 1 - kept^count."""
    return call("subtract", number_like(1.0, count), call("power", number_like(kept, count), count))


def _plus(left: Expr, right: Expr) -> Expr:
    return call("add", left, right)


def _times(value: Expr, factor: float) -> Expr:
    return call("multiply", value, number_like(factor, value))


def _plus_number(value: Expr, term: float) -> Expr:
    return call("add", value, number_like(term, value))
