"""Schedules: the learning rate of each step, as an expression of the step's number from 0 on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from relay_tune.arguments import whole_number, wrong_type
from relay_tune.ir.expr import Expr
from relay_tune.op_rules.typed import call, constant_of
from relay_tune.training.settings import NOT_NEGATIVE, require_numbers


class Rate(Protocol):
    """A learning rate that depends on the number of the step, a scalar of float32."""

    def at(self, number: Expr) -> Expr:
        """The rate of a step, a scalar of float32."""


@dataclass(frozen=True)
class Constant:
    """The same rate in all steps."""

    rate: float

    def at(self, number: Expr) -> Expr:
        """The rate."""
        return scalar(self.rate)


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
        angle = _times(call("minimum", number, scalar(self.steps)), math.pi / self.steps)
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
        result = scalar(self.rate)
        for step in self.at_steps:
            reached = call("greater_equal", number, scalar(step))
            factor = call("where", reached, scalar(self.factor), scalar(1.0))
            result = call("multiply", result, factor)
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
        share = call("minimum", _times(_plus(number, 1.0), 1.0 / self.steps), scalar(1.0))
        return call("multiply", self.after.at(number), share)


def scalar(value: float) -> Expr:
    """A number of float32."""
    return constant_of(np.asarray(value, dtype=np.float32))


def _times(value: Expr, factor: float) -> Expr:
    return call("multiply", value, scalar(factor))


def _plus(value: Expr, term: float) -> Expr:
    return call("add", value, scalar(term))
