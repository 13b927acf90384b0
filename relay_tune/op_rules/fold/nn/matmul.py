"""Dense layers as layers with weights."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Constant
from relay_tune.op_rules.fold.weighted import LayerRule, WeightedLayer
from relay_tune.op_rules.matching import attribute, rank

DENSE = ("nn.dense", "nn.matmul")


def dense_layer(layer: Call, weight: Constant) -> WeightedLayer | None:
    """A product with a matrix, whose rows are output channels unless it is transposed."""
    dims = rank(layer)
    is_transposed = attribute(layer, "transpose_b", True)
    if dims is None or weight.data.ndim != 2 or attribute(layer, "transpose_a", False):
        return None
    output_axis = 0 if is_transposed else 1
    data_rank = rank(layer.arguments[0]) or dims
    return WeightedLayer(layer, weight, output_axis, 1 - output_axis, dims - 1, data_rank - 1)


RULES: Mapping[str, LayerRule] = dict.fromkeys(DENSE, dense_layer)
