"""Adjoints of nn.softmax and nn.log_softmax, from their results."""

from __future__ import annotations

from relay_tune.op_rules.gradient.expressions import minus, product
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.typed import call


def _softmax(known: Differentiated) -> tuple[Adjoint]:
    """y (y' - sum(y y'))."""
    axis = attributes_of(known.call).axis
    total = call("sum", product(known.tensor, known.result), axis=(axis,), keepdims=True)
    return (product(minus(known.tensor, total), known.result),)


def _log_softmax(known: Differentiated) -> tuple[Adjoint]:
    """y' - exp(y) sum(y')."""
    axis = attributes_of(known.call).axis
    total = call("sum", known.tensor, axis=(axis,), keepdims=True)
    return (minus(known.tensor, product(call("exp", known.result), total)),)


RULES: GradientRules = {
    "nn.softmax": GradientRule(_softmax),
    "nn.log_softmax": GradientRule(_log_softmax),
}
