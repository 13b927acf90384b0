"""Convolutions of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    rank_of,
    shape_of,
    static_dim,
    static_shape,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import with_size
from relay_tune.frontend.onnx_import.operators.same_padding import with_same_padding
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.windows import (
    checked_numbers,
    spatial_rank,
    windows_of,
)
from relay_tune.ir.expr import Expr


def convolution(
    node: OnnxNode, build: Builder, data: Expr, weight: Expr, out_dtype: str = ""
) -> Expr:
    """The convolution that the attributes of a node describe, without a bias."""
    return padded_convolution(node, build, data, weight, None, out_dtype)[0]


def padded_convolution(
    node: OnnxNode, build: Builder, data: Expr, weight: Expr, fill: Expr | None, out_dtype: str
) -> tuple[Expr, Expr]:
    """The convolution, its padding filled with a number, and the data that it reads.

    Where that number is zero, which None stands for, the convolution itself pads the data.
    """
    rank = spatial_rank(rank_of(data))
    kernel = _kernel_shape(node, weight, rank)
    node = replace(node, inputs=(data, *node.inputs[1:]))
    zero = build.like(0, data)
    node = with_same_padding(node, build, kernel, zero if fill is None else fill)
    data = node.input(0)
    windows = windows_of(node, shape_of(data)[2:], kernel)
    padding = windows.padding
    if fill is not None and any(padding):
        sides = zip(padding[:rank], padding[rank:], strict=True)
        data = build.call("nn.pad", data, fill, pad_width=((0, 0), (0, 0), *sides))
        padding = (0,) * rank
    groups = _checked_groups(node, shape_of(data)[1], static_shape(weight))
    data = with_size(build, data, 1, static_shape(weight)[1] * groups)
    result = build.call(
        f"nn.conv{rank}d",
        data,
        weight,
        strides=windows.strides,
        padding=padding,
        dilation=windows.dilations,
        groups=groups,
        channels=static_shape(weight)[0],
        kernel_size=kernel,
        out_dtype=out_dtype,
    )
    return result, data


def _kernel_shape(node: OnnxNode, weight: Expr, rank: int) -> tuple[int, ...]:
    if rank_of(weight) != rank + 2:
        raise ModelError(f"the weight has {rank_of(weight)} dimensions instead of {rank + 2}.")
    kernel = static_shape(weight)[2:]
    given = node.integers("kernel_shape", kernel)
    if given != kernel:
        raise ModelError(f"attribute kernel_shape is {given}, but the weight has {kernel}.")
    return kernel


def _checked_groups(node: OnnxNode, channels: object, weight: Sequence[int]) -> int:
    groups = node.integer("group", 1)
    if groups < 1 or weight[0] % groups or (isinstance(channels, int) and channels % groups):
        raise ModelError(f"{groups} groups do not divide the channels.")
    return groups


def translate_conv(node: OnnxNode, build: Builder) -> Expr:
    """A convolution with an optional bias."""
    result = convolution(node, build, node.input(0), node.input(1))
    return with_bias(build, result, node.optional(2))


def with_bias(build: Builder, data: Expr, bias: Expr | None) -> Expr:
    """`data` with a number added to each channel."""
    return data if bias is None else build.call("nn.bias_add", data, bias, axis=1)


def translate_conv_transpose(node: OnnxNode, build: Builder) -> Expr:
    """A transposed convolution; sizes that nothing reaches are zero."""
    data, weight = node.input(0), node.input(1)
    rank = spatial_rank(rank_of(data))
    kernel = _kernel_shape(node, weight, rank)
    strides = checked_numbers(node.integers("strides", (1,) * rank), rank, "strides", 1)
    dilations = checked_numbers(node.integers("dilations", (1,) * rank), rank, "dilations", 1)
    groups = node.integer("group", 1)
    if groups < 1 or static_shape(weight)[0] % groups:
        raise ModelError(f"{groups} groups do not divide the channels.")
    padding, extra = _transposed_padding(node, data, kernel, strides, dilations)
    for axis, dim in enumerate(shape_of(data)[2:]):
        reached = (kernel[axis] - 1) * dilations[axis] + 1 + extra[axis]
        cut = padding[axis] + padding[axis + rank]
        if isinstance(dim, int) and (dim - 1) * strides[axis] + reached < cut:
            raise ModelError(f"the padding of axis {axis + 2} cuts off more than there is.")
    data = with_size(build, data, 1, static_shape(weight)[0])
    result = build.call(
        f"nn.conv{rank}d_transpose",
        data,
        weight,
        strides=strides,
        padding=padding,
        dilation=dilations,
        groups=groups,
        channels=static_shape(weight)[1] * groups,
        kernel_size=kernel,
        output_padding=extra,
    )
    return with_bias(build, result, node.optional(2))


def _transposed_padding(
    node: OnnxNode,
    data: Expr,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Elements cut off (all befores, then all afters), and those added at the end."""
    rank = len(kernel)
    extra = checked_numbers(node.integers("output_padding", (0,) * rank), rank, "output_padding", 0)
    mode = node.text("auto_pad", "NOTSET") or "NOTSET"
    explicit = checked_numbers(node.integers("pads", (0,) * (2 * rank)), 2 * rank, "pads", 0)
    if not node.has("output_shape") and mode in ("NOTSET", "VALID"):
        return explicit, extra
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise ModelError(f"attribute auto_pad has the unknown value {mode!r}.")
    before, after, added = [], [], []
    for axis, step in enumerate(strides):
        span = (kernel[axis] - 1) * dilations[axis] + 1
        total = extra[axis] + span - step  # all but a step for each element
        if node.has("output_shape"):
            total += step * static_dim(shape_of(data)[axis + 2]) - _wanted_sizes(node, rank)[axis]
        small, large = max(0, total) // 2, (max(0, total) + 1) // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
        added.append(extra[axis] + max(0, -total))
    return (*before, *after), tuple(added)


def _wanted_sizes(node: OnnxNode, rank: int) -> tuple[int, ...]:
    return checked_numbers(node.integers("output_shape")[-rank:], rank, "output_shape", 1)


def along_axis(build: Builder, vector: Expr, rank: int, axis: int) -> Expr:
    """A vector shaped so that it broadcasts along `axis` of tensors of `rank` axes."""
    if rank_of(vector) == 0:
        return vector
    if rank_of(vector) != 1:
        raise ModelError(f"expects a number or a vector, but found {rank_of(vector)} axes.")
    if shape_of(vector) == (1,):
        return build.call("reshape", vector, newshape=())
    trailing = rank - axis - 1
    if not trailing:
        return vector
    return build.call("expand_dims", vector, axis=1, num_newaxis=trailing)


CONVOLUTIONS: Mapping[str, Translator] = {
    "Conv": translate_conv,
    "ConvTranspose": translate_conv_transpose,
}
