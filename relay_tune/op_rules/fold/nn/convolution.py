"""Convolutions as layers with weights."""

from __future__ import annotations

from functools import partial

from relay_tune.ir.expr import Call, Constant
from relay_tune.op_rules.fold.weighted import LayerRule, WeightedLayer
from relay_tune.op_rules.matching import attribute


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
