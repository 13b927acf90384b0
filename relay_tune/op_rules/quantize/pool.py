"""Affine types through pools: maxima keep what is stored, averages are layers of equal weights.

    avg_pool(x, 3 x 3) = conv(x, 1 for each of 9 taps, a group for each channel) / 9

So its sums are those of a depthwise convolution of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import RelationError
from relay_tune.op_rules.matching import attribute, operator_name, static_shape
from relay_tune.op_rules.quantize.affine import Affine
from relay_tune.op_rules.quantize.layers import integer_layer
from relay_tune.op_rules.quantize.moving import moved
from relay_tune.op_rules.quantize.rule import AffineRule, Given, first
from relay_tune.op_rules.typed import call, constant_of

_MAXIMA = (
    *("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"),
    *("nn.global_max_pool1d", "nn.global_max_pool2d", "nn.global_max_pool3d"),
)

_CONVOLUTIONS = {
    "nn.avg_pool1d": ("nn.conv1d", "OIW"),
    "nn.avg_pool2d": ("nn.conv2d", "OIHW"),
    "nn.avg_pool3d": ("nn.conv3d", "OIDHW"),
}
"""The layer that sums the windows of an average, and the layout of its weights."""


def _average(call_: Call, given: Sequence[Given]) -> Affine | None:
    """Windows of bytes summed in int32, where all have as many elements."""
    data, window = first(given), _window(call_)
    layout = attribute(call_, "layout")
    if data is None or window is None or not set(layout) <= set("NCDHW"):
        return None
    shape = static_shape(data.stored)
    if shape is None:
        return None
    channels, count = shape[layout.index("C")], prod(window)
    taps = np.ones((channels, 1, *window), np.int8)
    weight = Affine(constant_of(taps), np.asarray(1 / count), np.asarray(0), 0, (1, 1))
    layer = _layer(call_, taps)
    same = layer is not None and static_shape(layer) == static_shape(call_)
    return integer_layer(layer, (data, weight)) if layer is not None and same else None


def _window(call_: Call) -> tuple[int, ...] | None:
    """The sizes of the windows; None where the padding makes some smaller."""
    size, padding = attribute(call_, "pool_size"), attribute(call_, "padding")
    rank = len(attribute(call_, "layout")) - 2
    is_padded = any(padding) if isinstance(padding, tuple) else bool(padding)
    if is_padded and not attribute(call_, "count_include_pad"):
        return None
    return size if isinstance(size, tuple) else (size,) * rank


def _layer(call_: Call, taps: np.ndarray) -> Call | None:
    """The layer of float32 that sums the windows; None where some are beyond its data."""
    name, kernel_layout = _CONVOLUTIONS[operator_name(call_) or ""]
    kept = {key: attribute(call_, key) for key in ("strides", "dilation", "padding", "out_layout")}
    channels, _, *window = taps.shape
    weight: Expr = constant_of(taps.astype(np.float32))
    try:
        return call(
            name,
            call_.arguments[0],
            weight,
            data_layout=attribute(call_, "layout"),
            kernel_layout=kernel_layout,
            kernel_size=tuple(window),
            channels=channels,
            groups=channels,
            **kept,
        )
    except RelationError:
        return None


RULES: Mapping[str, AffineRule] = {
    **dict.fromkeys(_MAXIMA, moved),
    **dict.fromkeys(_CONVOLUTIONS, _average),
}
