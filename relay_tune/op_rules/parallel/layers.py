"""Layers with constant weights that read the same data, as one layer with all their channels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields

import numpy as np

from relay_tune.ir.expr import Call, Expr, Var
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import attribute, static_shape, tensor_type
from relay_tune.op_rules.typed import constant_of, recall

_COUNTS = ("units", "channels")
"""Attributes that say how many channels a layer has, if they say it."""


def parallel_key(layer: WeightedLayer) -> Hashable:
    """Key of layers that can be one: all but their weights and number of channels."""
    attributes = layer.layer.attributes
    named = () if attributes is None else fields(attributes)
    values = [(each.name, attribute(layer.layer, each.name)) for each in named]
    weight = list(layer.weight.data.shape)
    weight[layer.output_axis] = 0
    return (
        layer.layer.callee,
        layer.layer.arguments[0],
        repr([value for value in values if value[0] not in _COUNTS]),
        tuple(weight),
        layer.weight.data.dtype.str,
    )


def channels_of(layer: WeightedLayer) -> int:
    """How many channels the result of a layer has."""
    return int(layer.weight.data.shape[layer.output_axis])


def joined_layer(layers: Sequence[WeightedLayer]) -> Call:
    """The layer with the channels of all `layers`, which have one key, in their order."""
    first = layers[0]
    weights = [layer.weight.data for layer in layers]
    weight = constant_of(np.concatenate(weights, first.output_axis))
    total = sum(map(channels_of, layers))
    return _with_weight(first, first.layer.arguments[0], weight, total)


def sample_layer(layer: WeightedLayer, channels: int) -> tuple[Var, Call]:
    """The layer with so many channels, all zero, on a parameter, for an estimate of its costs.

    It is channels-last, as builds choose it for images where that costs least.
    """
    shape = list(layer.weight.data.shape)
    shape[layer.output_axis] = channels
    data_shape = list(static_shape(layer.layer.arguments[0]) or ())
    layouts = {}
    data_layout = attribute(layer.layer, "data_layout", "")
    kernel_layout = attribute(layer.layer, "kernel_layout", "")
    if data_layout and kernel_layout:
        last = data_layout.replace("C", "") + "C"
        inner = kernel_layout.replace("O", "").replace("I", "") + "IO"
        data_shape = [data_shape[data_layout.index(axis)] for axis in last]
        shape = [shape[kernel_layout.index(axis)] for axis in inner]
        layouts = {"data_layout": last, "kernel_layout": inner, "out_layout": ""}
    dtype = layer.weight.data.dtype
    given = tensor_type(layer.layer.arguments[0])
    type_ = TensorType(tuple(data_shape), str(dtype) if given is None else given.dtype)
    data = Var("data", type_, type=type_)
    zeros = constant_of(np.broadcast_to(np.zeros((), dtype), shape))
    return data, _with_weight(layer, data, zeros, channels, **layouts)


def _with_weight(
    layer: WeightedLayer, data: Expr, weight: Expr, channels: int, **layouts: str
) -> Call:
    counts = {name: channels for name in _COUNTS if attribute(layer.layer, name) is not None}
    return recall(layer.layer, (data, weight), **counts, **layouts)
