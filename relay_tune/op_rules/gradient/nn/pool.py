"""Adjoints of averages over whole images; those of other pools are derived."""

from __future__ import annotations

from math import prod

from relay_tune.op_rules.gradient.expressions import number, quotient
from relay_tune.op_rules.gradient.reduction import repeated
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import static_shape


def _global_average(known: Differentiated) -> tuple[Adjoint] | None:
    (data,) = known.call.arguments
    whole, pooled = static_shape(data), static_shape(known.tensor)
    if whole is None or pooled is None or len(whole) != len(pooled) or not prod(pooled):
        return None
    count = prod(whole) / prod(pooled)
    return (repeated(quotient(known.tensor, number(count, data)), data),)


RULES: GradientRules = {
    f"nn.global_avg_pool{rank}d": GradientRule(_global_average) for rank in (1, 2, 3)
}
