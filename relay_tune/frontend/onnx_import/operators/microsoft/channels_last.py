"""Images whose channels are the last axis, and what diffusion models have beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import translate_gelu
from relay_tune.frontend.onnx_import.operators.convolution import translate_conv
from relay_tune.frontend.onnx_import.operators.microsoft.fused import (
    standard,
    sum_of,
    translate_fused_conv,
)
from relay_tune.frontend.onnx_import.operators.normalization import translate_group_normalization
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.pooling import POOLS
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr

NOTHING, SILU = 0, 1
"""Codes of the activation behind a normalisation."""


def channels_first(build: Builder, data: Expr) -> Expr:
    """[batch, .., channels] as [batch, channels, ..]."""
    spatial = range(1, rank_of(data) - 1)
    return build.call("transpose", data, axes=(0, spatial.stop, *spatial))


def channels_last(build: Builder, data: Expr) -> Expr:
    """[batch, channels, ..] as [batch, .., channels]."""
    return build.call("transpose", data, axes=(0, *range(2, rank_of(data)), 1))


def translate_conv_of_last(node: OnnxNode, build: Builder) -> Expr:
    """A convolution whose weights have their channels last, too."""
    data, weights = (channels_first(build, node.input(index)) for index in (0, 1))
    inner = standard(node, data, weights, *node.inputs[2:])
    return channels_last(build, translate_conv(inner, build))


def translate_fused_conv_of_last(node: OnnxNode, build: Builder) -> Expr:
    """A convolution with ordinary weights, a tensor that is added, and an activation."""
    data, added = channels_first(build, node.input(0)), node.optional(3)
    added = None if added is None else channels_first(build, added)
    inner = standard(node, data, node.input(1), node.optional(2), added)
    return channels_last(build, translate_fused_conv(inner, build))


def translate_group_norm(node: OnnxNode, build: Builder) -> Expr:
    """Normalisation of groups of channels, and an activation."""
    return _normalized(node, build, node.input(0))


def translate_skip_group_norm(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Normalisation of a sum of images, rows of channels and a bias; and the sum."""
    data = node.input(0)
    others = [node.optional(index) for index in (3, 4)]
    parts = [_beside_images(node, build, each) for each in others if each is not None]
    total = sum_of(build, data, *parts)
    return [_normalized(node, build, total), total]


def _is_last(node: OnnxNode) -> bool:
    return bool(node.flag("channels_last", 1))


def _beside_images(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    """Vectors of channels, one of all or one of each of the batch, that broadcast to images."""
    if rank_of(data) > 2:
        return data
    if _is_last(node):
        spread = build.call("expand_dims", data, axis=rank_of(data) - 1, num_newaxis=2)
    else:
        spread = build.call("expand_dims", data, axis=rank_of(data), num_newaxis=2)
    return spread


def _normalized(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    activation = node.integer("activation")
    if activation not in (NOTHING, SILU):
        raise UnsupportedOperatorError(f"the activation {activation} is not supported.")
    images = channels_first(build, data) if _is_last(node) else data
    inner = standard(node, images, node.input(1), node.input(2), num_groups=node.integer("groups"))
    result = translate_group_normalization(inner, build)
    if activation == SILU:
        result = build.call("multiply", result, build.call("sigmoid", result))
    return channels_last(build, result) if _is_last(node) else result


def translate_bias_split_gelu(node: OnnxNode, build: Builder) -> Expr:
    """The first half of the last axis, times GELU of the second, of data and a bias."""
    total = sum_of(build, node.input(0), node.input(1))
    axis = rank_of(total) - 1
    width = static_dim(shape_of(total)[axis])
    if width % 2:
        raise ModelError(f"a width of {width} cannot be halved.")
    left, right = (part(build, total, axis, begin, begin + width // 2) for begin in (0, width // 2))
    gate = translate_gelu(standard(node, right, approximate="none"), build)
    return build.call("multiply", left, gate)


def _of_last(translate: Translator) -> Callable[[OnnxNode, Builder], Expr]:
    """An operator on images with their channels last."""

    def apply(node: OnnxNode, build: Builder) -> Expr:
        result = translate(standard(node, channels_first(build, node.input(0))), build)
        first = result[0] if isinstance(result, list) else result
        assert isinstance(first, Expr)
        return channels_last(build, first)

    return apply


CHANNELS_LAST: Mapping[str, Translator] = {
    "NhwcConv": translate_conv_of_last,
    "NhwcFusedConv": translate_fused_conv_of_last,
    "NhwcMaxPool": _of_last(POOLS["MaxPool"]),
    "GroupNorm": translate_group_norm,
    "SkipGroupNorm": translate_skip_group_norm,
    "BiasSplitGelu": translate_bias_split_gelu,
}
