"""CausalConvWithState: each channel's own window over what came before; the end of it is kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
    static_shape,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size, filled_to_sizes, known_size
from relay_tune.frontend.onnx_import.operators.convolution import translate_conv
from relay_tune.frontend.onnx_import.operators.microsoft.fused import standard
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import widened_input
from relay_tune.ir.expr import Expr

_ONLY = {"ndim": 1, "state_window": 0, "state_update_capacity": 0, "state_length": 0}
_ONLY |= {"input_channel_offset": 0, "input_channels": 0, "state_channels_last": -1}


def translate_causal_convolution(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The convolution of what is kept and the input, and the last elements of both to keep."""
    for name, value in _ONLY.items():
        if node.integer(name, value) != value:
            raise UnsupportedOperatorError(f"CausalConvWithState with {name} is not supported.")
    dilation = node.integer("dilation", 1)
    if dilation < 1:
        raise ModelError("attribute dilation must be 1 or more.")
    channels, _, taps = static_shape(node.input(1))
    kept = (taps - 1) * dilation
    data, past = _channels_first(node, build, node.input(0)), node.optional(3)
    if past is None:
        sizes = (known_size(build, data, 0), channels, kept)
        past = filled_to_sizes(build, 0, dtype_of(data), sizes)
    else:
        past = _channels_first(node, build, past)
        past = build.with_shape(past, (shape_of(data)[0], channels, kept))
    whole = build.call("concatenate", build.tuple_of((past, data)), axis=2)
    inner = standard(
        node,
        *(whole, node.input(1), node.optional(2)),
        group=channels,
        dilations=[dilation],
    )
    result = _activated(node, build, translate_conv(inner, build))
    result = build.with_shape(result, shape_of(data))
    state = _last(build, data, whole, kept)
    return [_as_given(node, build, each) for each in (result, state)]


def _activated(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    match node.text("activation", "none"):
        case "none":
            return data
        case "silu" | "swish":
            wide = widened_input(build, data)
            result = build.call("multiply", wide, build.call("sigmoid", wide))
            return build.call("cast", result, dtype=dtype_of(data))
        case name:
            raise ModelError(f"attribute activation has the unknown value {name!r}.")


def _last(build: Builder, data: Expr, whole: Expr, count: int) -> Expr:
    """The last `count` elements of all, which are as many as those of `data` and `count` more."""
    size = axis_size(build, data, 2)
    indices = build.call("add", build.constant(np.arange(count)), size)
    return build.call("take", whole, indices, axis=2, mode="clip")


def _channels_first(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    """[batch, length, channels ..] as [batch, channels, length], where the node has it so."""
    if not node.flag("channels_last", 0):
        if rank_of(data) != 3:
            raise ModelError(f"expects 3 dimensions instead of {rank_of(data)}.")
        return data
    if rank_of(data) > 3:
        data = build.call("reshape", data, newshape=(0, 0, -1))
    return build.call("transpose", data, axes=(0, 2, 1))


def _as_given(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    """[batch, channels, length] with the axes of the input."""
    if not node.flag("channels_last", 0):
        return data
    data = build.call("transpose", data, axes=(0, 2, 1))
    trailing = tuple(static_dim(dim) for dim in shape_of(node.input(0))[2:])
    if len(trailing) == 1:
        return data
    return build.call("reshape", data, newshape=(0, 0, *trailing))


CAUSAL_CONVOLUTIONS: Mapping[str, Translator] = {
    "CausalConvWithState": translate_causal_convolution
}
