"""The adjoint of a bias: the sum over all other axes."""

from __future__ import annotations

from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of
from relay_tune.op_rules.typed import call


def _bias_add(known: Differentiated) -> tuple[Adjoint, Adjoint]:
    axis = attributes_of(known.call).axis
    return known.tensor, call("sum", known.tensor, axis=(axis,), exclude=True)


RULES: GradientRules = {"nn.bias_add": GradientRule(_bias_add)}
