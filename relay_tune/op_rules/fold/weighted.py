"""Layers that are linear in constant weights: scaling their weights by channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.quick_dataclass import dataclass

LayerRule: TypeAlias = "Callable[[Call, Constant], WeightedLayer | None]"
"""rule(call, its weight, of floats) -> the layer; None if no axis counts its channels."""


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
        data = self.weight.data
        shape = [1] * data.ndim
        shape[axis] = scale.size
        with np.errstate(all="ignore"):
            scaled = (data * scale.reshape(shape)).astype(data.dtype, copy=False)
        if not np.isfinite(scaled).all():
            return None
        return recall(self.layer, (self.layer.arguments[0], constant_of(scaled)))


def channel_vector(expr: Expr, channel_axis: int, dims: int) -> np.ndarray | None:
    """The elements of a constant that varies, at most, along one axis of what it broadcasts to."""
    if not isinstance(expr, Constant) or expr.data.dtype.kind != "f" or expr.data.ndim > dims:
        return None
    position = channel_axis - dims + expr.data.ndim
    others = [size for axis, size in enumerate(expr.data.shape) if axis != position]
    return expr.data.reshape(-1) if all(size == 1 for size in others) else None


def fits_channels(vector: np.ndarray, layer: WeightedLayer) -> bool:
    """Whether the vector is one number or one for each output channel."""
    type_ = tensor_type(layer.layer)
    return vector.size == 1 or (
        type_ is not None and type_.shape[layer.channel_axis] == vector.size
    )
