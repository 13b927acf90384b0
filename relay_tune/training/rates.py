"""Schedules: the learning rate of each step, as an expression of the step's number from 0 on.

Numbers are of the element type in which the step computes, that of the step's number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from relay_tune.arguments import whole_number, wrong_type
from relay_tune.ir.expr import Expr
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.training.settings import NOT_NEGATIVE, require_numbers


class Rate(Protocol):
    """A learning rate that depends on the number of the step."""

    def at(self, number: Expr) -> Expr:
        """The rate of a step, a scalar.

        Args:
            number: how many steps were made, a scalar of float32, or float64 where parameters are.
        """


@dataclass(frozen=True)
class Constant:
    """The same rate in all steps."""

    rate: float

    def at(self, number: Expr) -> Expr:
        """The rate."""
        return number_like(self.rate, number)


@dataclass(frozen=True)
class Cosine:
    """From `rate` down to `least` along half a cosine, in so many steps (Loshchilov, Hutter 2017).

    I. Loshchilov and F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017,
    equation 5, without restarts.
    """

    rate: float
    steps: int
    least: float = 0.0

    def __post_init__(self) -> None:
        """Raises InputError where this is no schedule."""
        require_numbers(self, {"rate": NOT_NEGATIVE, "least": NOT_NEGATIVE})
        whole_number(self.steps, "steps of Cosine", least=1)

    def at(self, number: Expr) -> Expr:
        """least + (rate - least) (1 + cos(pi number / steps)) / 2."""
        made = call("minimum", number, number_like(self.steps, number))
        angle = _times(made, math.pi / self.steps)
        half = _times(_plus(call("cos", angle), 1.0), 0.5 * (self.rate - self.least))
        return _plus(half, self.least)


@dataclass(frozen=True)
class Steps:
    """`rate`, multiplied by `factor` from each of the steps in `at_steps` on."""

    rate: float
    at_steps: Sequence[int]
    factor: float = 0.1

    def __post_init__(self) -> None:
        """Raises InputError where this is no schedule."""
        require_numbers(self, {"rate": NOT_NEGATIVE, "factor": NOT_NEGATIVE})
        if not isinstance(self.at_steps, Sequence):
            example = "List them: at_steps=(1000, 2000)."
            raise wrong_type("at_steps of Steps", "a sequence", self.at_steps, example)
        for step in self.at_steps:
            whole_number(step, "A step of at_steps", least=0)

    def at(self, number: Expr) -> Expr:
        """rate factor^(how many of the steps were reached)."""
        result = number_like(self.rate, number)
        one, factor = number_like(1.0, number), number_like(self.factor, number)
        for step in self.at_steps:
            reached = call("greater_equal", number, number_like(step, number))
            result = call("multiply", result, call("where", reached, factor, one))
        return result


@dataclass(frozen=True)
class Warmup:
    """Another schedule, whose rate grows linearly during the first steps."""

    steps: int
    after: Rate

    def __post_init__(self) -> None:
        """Raises InputError where this is no schedule."""
        whole_number(self.steps, "steps of Warmup", least=1)
        if isinstance(self.after, type) or not callable(getattr(self.after, "at", None)):
            example = "Give one such as rt.training.Cosine(1e-3, steps=1000)."
            raise wrong_type("after of Warmup", "a schedule", self.after, example)

    def at(self, number: Expr) -> Expr:
        """The rate of `after` times min(1, (number + 1) / steps)."""
        reached = _times(_plus(number, 1.0), 1.0 / self.steps)
        share = call("minimum", reached, number_like(1.0, number))
        return call("multiply", self.after.at(number), share)


def number_like(value: float, like: Expr) -> Expr:
    """A number of the element type of another value."""
    type_ = tensor_type(like)
    assert type_ is not None
    return constant_of(np.asarray(value, dtype=type_.dtype))


def _times(value: Expr, factor: float) -> Expr:
    return call("multiply", value, number_like(factor, value))


def _plus(value: Expr, term: float) -> Expr:
    return call("add", value, number_like(term, value))
