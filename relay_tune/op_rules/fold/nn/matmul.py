"""Dense layers as layers with weights."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Constant
from relay_tune.op_rules.fold.weighted import LayerRule, WeightedLayer
from relay_tune.op_rules.matching import attribute, rank

DENSE = ("nn.dense", "nn.matmul")


def dense_layer(layer: Call, weight: Constant) -> WeightedLayer | None:
    """A product with a matrix, or with one for each sample of a batch.

    The rows of a matrix are output channels unless it is transposed.
    """
    dims, axes = rank(layer), weight.data.ndim
    is_transposed = attribute(layer, "transpose_b", True)
    if dims is None or axes < 2 or attribute(layer, "transpose_a", False):
        return None
    output_axis, input_axis = (axes - 2, axes - 1) if is_transposed else (axes - 1, axes - 2)
    data_rank = rank(layer.arguments[0]) or dims
    return WeightedLayer(layer, weight, output_axis, input_axis, dims - 1, data_rank - 1)


RULES: Mapping[str, LayerRule] = dict.fromkeys((*DENSE, "nn.batch_matmul"), dense_layer)
