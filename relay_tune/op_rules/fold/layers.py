"""Convolutions and products as layers with weights, into which scales are folded."""

from __future__ import annotations

from functools import partial

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.fold.weighted import LayerRule, WeightedLayer
from relay_tune.op_rules.matching import attribute, rank, static_shape, tensor_type
from relay_tune.op_rules.table import OperatorTable


def convolution_layer(
    layer: Call, weight: Constant, *, is_transposed: bool
) -> WeightedLayer | None:
    """A convolution whose layouts say which axes count channels."""
    data_layout, kernel_layout = attribute(layer, "data_layout"), attribute(layer, "kernel_layout")
    out_layout = attribute(layer, "out_layout", "") or data_layout
    if not (data_layout + kernel_layout + out_layout).isalpha():
        return None
    if weight.data.ndim != len(kernel_layout):
        return None
    grouped = attribute(layer, "groups") != 1
    if grouped and is_transposed:
        return None
    return WeightedLayer(
        layer,
        weight,
        output_axis=kernel_layout.index("O"),
        input_axis=None if grouped else kernel_layout.index("I"),
        channel_axis=out_layout.index("C"),
        data_channel_axis=data_layout.index("C"),
    )


CONVOLUTION: LayerRule = partial(convolution_layer, is_transposed=False)

TRANSPOSED_CONVOLUTION: LayerRule = partial(convolution_layer, is_transposed=True)

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


LAYERS: OperatorTable[LayerRule] = OperatorTable(
    dict.fromkeys((*DENSE, "nn.batch_matmul"), dense_layer)
)


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
