"""Layers with weights, into which scales are folded."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.fold.nn import matmul
from relay_tune.op_rules.fold.weighted import LayerRule, WeightedLayer
from relay_tune.op_rules.table import OperatorTable

LAYERS: OperatorTable[LayerRule] = OperatorTable(matmul.RULES)


def weighted_layer(expr: Expr) -> WeightedLayer | None:
    """`expr` as a layer whose weight is a floating-point constant, or None."""
    rule = LAYERS.rule_of(expr)
    if rule is None or not isinstance(expr, Call):
        return None
    weight = expr.arguments[1]
    if not isinstance(weight, Constant) or weight.data.dtype.kind != "f":
        return None
    return rule(expr, weight)
