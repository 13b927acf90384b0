"""Reading annotated networks: what is observed, and which sums are biases of layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Constant, Expr
from relay_tune.op_rules.fold.weighted import WeightedLayer, channel_vector
from relay_tune.op_rules.matching import attribute, operator_call, operator_name, rank
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Observation:
    """A call of qnn.observe.

    Attributes:
        data: what is observed.
        tensor: its name.
        dtype: the integer type that is to store it.
        axis: the axis with a scale for each index; None where there is one scale.
        factors: of a bias, the names of the tensors whose scales make its own.
    """

    data: Expr
    tensor: str
    dtype: str
    axis: int | None
    factors: tuple[str, ...]

    @property
    def is_weight(self) -> bool:
        """Whether it is a layer's weight."""
        return self.axis is not None and not self.factors

    @property
    def is_bias(self) -> bool:
        """Whether it is a layer's bias."""
        return bool(self.factors)

    @property
    def is_data(self) -> bool:
        """Whether it is computed as the network runs."""
        return not self.is_weight and not self.is_bias

    @property
    def constant(self) -> np.ndarray | None:
        """The elements, where they are known."""
        return self.data.data if isinstance(self.data, Constant) else None


def observation(node: Expr) -> Observation | None:
    """The annotation that a node is, if it is one."""
    found = operator_call(node, "qnn.observe")
    if found is None:
        return None
    attributes: Any = found.attributes
    return Observation(
        found.arguments[0],
        attributes.tensor,
        attributes.dtype,
        attributes.axis,
        tuple(attributes.factors),
    )


def added_bias(node: Expr, layer: WeightedLayer) -> np.ndarray | None:
    """The constants that a node adds to the channels of a layer, one each; None if it does not."""
    found = operator_call(node, "nn.bias_add", "add")
    dims = rank(node)
    if found is None or dims is None or found.arguments[0] is not layer.layer:
        return None
    bias = found.arguments[1]
    if not isinstance(bias, Constant) or found.type != layer.layer.type:
        return None
    if operator_name(found) == "add":
        vector = channel_vector(bias, layer.channel_axis, dims)
    else:
        is_channel = attribute(found, "axis") % dims == layer.channel_axis
        vector = bias.data if is_channel else None
    count = layer.weight.data.shape[layer.output_axis]
    if vector is None or vector.dtype != np.float32 or vector.size not in (1, count):
        return None
    if not np.isfinite(vector).all():
        return None
    return np.ascontiguousarray(np.broadcast_to(vector, (count,)))


def operator_title(node: Expr) -> str:
    """The name of the operator that a node calls, for its user; "" if it calls none."""
    return operator_name(node) or ""


def is_conversion(node: Expr) -> bool:
    """Whether a node belongs to a network that is quantized, or is about to be."""
    return operator_call(node, "qnn.quantize", "qnn.dequantize", "qnn.observe") is not None
