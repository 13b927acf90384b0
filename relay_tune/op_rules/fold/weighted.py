"""Convolutions and dense layers with constant weights: scaling their weights by channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import attribute, operator_call, rank, static_shape
from relay_tune.op_rules.typed import constant_of, recall

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
TRANSPOSED_CONVOLUTIONS = ("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
DENSE = ("nn.dense", "nn.matmul")


@dataclass(frozen=True, slots=True)
class WeightedLayer:
    """A layer that is linear in a constant weight.

    Attributes:
        layer: the call.
        weight: its weight.
        output_axis: the axis of the weight that counts output channels.
        input_axis: the axis that counts input channels; None where groups share it.
        channel_axis: the axis of the result that counts output channels.
        data_channel_axis: the axis of the data that counts input channels.
    """

    layer: Call
    weight: Constant
    output_axis: int
    input_axis: int | None
    channel_axis: int
    data_channel_axis: int

    def with_scaled_outputs(self, scale: np.ndarray) -> Call | None:
        """The layer whose result is multiplied by `scale` (one number, or one a channel).

        None where that makes a weight infinite.
        """
        return self._with_scaled_weight(scale, self.output_axis)

    def with_scaled_inputs(self, scale: np.ndarray, data: Expr) -> Call | None:
        """The layer on `data` whose input is multiplied by `scale`; None where it cannot be."""
        if self.input_axis is None and scale.size > 1:
            return None
        scaled = self._with_scaled_weight(scale, self.input_axis or 0)
        return None if scaled is None else recall(scaled, (data, scaled.arguments[1]))

    def _with_scaled_weight(self, scale: np.ndarray, axis: int) -> Call | None:
        shape = [1] * self.weight.data.ndim
        shape[axis] = scale.size
        with np.errstate(all="ignore"):
            scaled = (self.weight.data * scale.reshape(shape)).astype(self.weight.data.dtype)
        if not np.isfinite(scaled).all():
            return None
        return recall(self.layer, (self.layer.arguments[0], constant_of(scaled)))


def weighted_layer(expr: Expr) -> WeightedLayer | None:
    """`expr` as a layer whose weight is a floating-point constant, or None."""
    layer = operator_call(expr, *CONVOLUTIONS, *TRANSPOSED_CONVOLUTIONS, *DENSE)
    if layer is None or not isinstance(layer.arguments[1], Constant):
        return None
    if layer.arguments[1].data.dtype.kind != "f":
        return None
    if operator_call(layer, *DENSE) is not None:
        return _dense_layer(layer, layer.arguments[1])
    return _convolution_layer(layer, layer.arguments[1])


def channel_vector(expr: Expr, channel_axis: int, dims: int) -> np.ndarray | None:
    """The elements of a constant that varies, at most, along one axis of what it broadcasts to."""
    if not isinstance(expr, Constant) or expr.data.dtype.kind != "f" or expr.data.ndim > dims:
        return None
    place = channel_axis - dims + expr.data.ndim
    others = [size for axis, size in enumerate(expr.data.shape) if axis != place]
    return expr.data.reshape(-1) if all(size == 1 for size in others) else None


def fits_channels(vector: np.ndarray, layer: WeightedLayer) -> bool:
    """Whether the vector is one number or one for each output channel."""
    shape = static_shape(layer.layer)
    return vector.size == 1 or (shape is not None and shape[layer.channel_axis] == vector.size)


def _dense_layer(layer: Call, weight: Constant) -> WeightedLayer | None:
    dims = rank(layer)
    is_transposed = operator_call(layer, "nn.dense") is not None or attribute(layer, "transpose_b")
    if dims is None or weight.data.ndim != 2 or attribute(layer, "transpose_a", False):
        return None
    output_axis = 0 if is_transposed else 1
    data_rank = rank(layer.arguments[0]) or dims
    return WeightedLayer(layer, weight, output_axis, 1 - output_axis, dims - 1, data_rank - 1)


def _convolution_layer(layer: Call, weight: Constant) -> WeightedLayer | None:
    data_layout, kernel_layout = attribute(layer, "data_layout"), attribute(layer, "kernel_layout")
    out_layout = attribute(layer, "out_layout", "") or data_layout
    if not (data_layout + kernel_layout + out_layout).isalpha():
        return None
    if weight.data.ndim != len(kernel_layout):
        return None
    grouped = attribute(layer, "groups") != 1
    if grouped and operator_call(layer, *TRANSPOSED_CONVOLUTIONS) is not None:
        return None
    return WeightedLayer(
        layer,
        weight,
        output_axis=kernel_layout.index("O"),
        input_axis=None if grouped else kernel_layout.index("I"),
        channel_axis=out_layout.index("C"),
        data_channel_axis=data_layout.index("C"),
    )
