"""Adjoints of losses."""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import negated, number, product, quotient
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.typed import call


def _share(known: Differentiated, data: Expr) -> Expr | None:
    """The adjoint of the sum that a cross entropy divides by the number of rows."""
    shape = static_shape(data)
    if shape is None:
        return None
    return negated(quotient(known.tensor, number(float(shape[0]), data)))


def _cross_entropy(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    """Of -sum(t log p) / rows."""
    predictions, targets = known.call.arguments
    share = _share(known, predictions)
    if share is None:
        return None
    return (
        product(quotient(targets, predictions), share),
        product(call("log", predictions), share),
    )


def _with_logits(known: Differentiated) -> tuple[Adjoint, Adjoint] | None:
    """Of -sum(t l) / rows, where l are logarithms."""
    predictions, targets = known.call.arguments
    share = _share(known, predictions)
    return None if share is None else (product(targets, share), product(predictions, share))


RULES: GradientRules = {
    "nn.cross_entropy": GradientRule(_cross_entropy),
    "nn.cross_entropy_with_logits": GradientRule(_with_logits),
}
