"""Layers with weights, into which scales are folded."""

from __future__ import annotations

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.fold.nn import matmul
from relay_tune.op_rules.fold.weighted import LayerRule, WeightedLayer
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.op_rules.table import OperatorTable

LAYERS: OperatorTable[LayerRule] = OperatorTable(matmul.RULES)


def weighted_layer(expr: Expr) -> WeightedLayer | None:
    """`expr` as a layer whose weight is a floating-point constant, or None."""
    if not isinstance(expr, Call) or LAYERS.rule_of(expr) is None:
        return None
    weight = expr.arguments[1]
    return _layer(expr, weight) if isinstance(weight, Constant) else None


def layer_of_argument(expr: Expr) -> WeightedLayer | None:
    """`expr` as a layer whose weight is no constant: `weight` has its shape alone, in zeros."""
    if not isinstance(expr, Call) or LAYERS.rule_of(expr) is None:
        return None
    type_, shape = tensor_type(expr.arguments[1]), static_shape(expr.arguments[1])
    if isinstance(expr.arguments[1], Constant) or type_ is None or shape is None:
        return None
    if type_.dtype not in ("float32", "float64"):
        return None
    return _layer(expr, Constant(np.broadcast_to(np.zeros((), type_.dtype), shape), type=type_))


def _layer(expr: Call, weight: Constant) -> WeightedLayer | None:
    rule = LAYERS.rule_of(expr)
    return None if rule is None or weight.data.dtype.kind != "f" else rule(expr, weight)
