"""Normalisations of ONNX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axes,
    checked_axis,
    dtype_of,
    rank_of,
    shape_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    are_known,
    known_sizes,
    size_quotient,
    with_size,
)
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.convolution import along_axis
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.pooling import powers_of, root_of
from relay_tune.frontend.onnx_import.operators.reshape import (
    reshape_like_source,
    reshape_to,
    reshape_to_known,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import in_wide, widened_input
from relay_tune.frontend.onnx_import.types import dtype_name
from relay_tune.ir.expr import Expr
from relay_tune.op.elements import wide_dtype


def translate_batch_normalization(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Normalisation of channels by given statistics, or by those of the batch in training."""
    data, scale, bias, mean, variance = (node.input(index) for index in range(5))
    epsilon = node.number("epsilon", 1e-5)
    if node.opset < 7 and not node.flag("is_test", 0):
        raise UnsupportedOperatorError("batch normalization in training mode is not supported.")
    if node.opset < 9 and not node.flag("spatial", 1):
        raise UnsupportedOperatorError("batch normalization with spatial=0 is not supported.")
    if node.opset >= 14 and node.flag("training_mode", 0):
        return _train(node, build, epsilon)
    if any(node.wants(index) for index in range(1, 5)):
        raise UnsupportedOperatorError("statistics as outputs need training_mode=1.")
    if rank_of(data) >= 2 and len({dtype_of(each) for each in node.all_inputs()}) == 1:
        momentum = node.number("momentum", 0.9)
        vectors = (scale, bias, mean, variance)
        channels = _with_channels_of(build, data, scale)
        result = build.call(
            "nn.batch_norm", channels, *vectors, axis=1, epsilon=epsilon, momentum=momentum
        )
        return [build.item(result, 0)]
    return [_normalized(build, data, (scale, bias, mean, variance), epsilon)]


def _with_channels_of(build: Builder, data: Expr, vector: Expr) -> Expr:
    """Data (n, c, ..) with as many channels as a vector has elements, if that is known."""
    sizes = shape_of(vector)
    if rank_of(data) < 2 or len(sizes) != 1 or not isinstance(sizes[0], int):
        return data
    return with_size(build, data, 1, sizes[0])


def _normalized(build: Builder, data: Expr, parameters: Sequence[Expr], epsilon: float) -> Expr:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, in the type of the statistics."""
    dtype, rank = wide_dtype(dtype_of(parameters[2])), rank_of(data)
    vectors = [cast_to(build, each, dtype) for each in parameters]
    scale, bias, mean, variance = (along_axis(build, each, rank, 1) for each in vectors)
    centred = build.call("subtract", cast_to(build, data, dtype), mean)
    deviation = build.call("sqrt", shifted(build, variance, epsilon))
    normal = build.call("divide", centred, deviation)
    result = build.call("add", build.call("multiply", normal, scale), bias)
    return cast_to(build, result, dtype_of(data))


def _train(node: OnnxNode, build: Builder, epsilon: float) -> list[Expr | None]:
    """The result, the running mean, and the running variance."""
    data, mean, variance = node.input(0), node.input(3), node.input(4)
    momentum, dtype = node.number("momentum", 0.9), wide_dtype(dtype_of(data))
    vectors = [cast_to(build, node.input(position), dtype) for position in range(1, 5)]
    channels = _with_channels_of(build, cast_to(build, data, dtype), vectors[0])
    normal = build.call(
        "nn.batch_norm",
        channels,
        *vectors,
        axis=1,
        epsilon=epsilon,
        training=True,
        momentum=momentum,
    )
    running = [
        _running(build, old, build.item(normal, position), momentum)
        for position, old in ((1, mean), (2, variance))
    ]
    return [cast_to(build, build.item(normal, 0), dtype_of(data)), *running]


def _running(build: Builder, old: Expr, new: Expr, momentum: float) -> Expr:
    """momentum * old + (1 - momentum) * new, in the type of the old statistic."""
    old_part = scaled(build, widened_input(build, old), momentum)
    new_part = scaled(build, cast_to(build, new, dtype_of(old_part)), 1 - momentum)
    return cast_to(build, build.call("add", old_part, new_part), dtype_of(old))


def translate_instance_normalization(node: OnnxNode, build: Builder) -> Expr:
    """Normalisation of each channel of each example."""
    data, scale, bias = (node.input(index) for index in range(3))
    axes = tuple(range(2, rank_of(data)))
    if not axes:
        raise ModelError(f"expects at least 3 dimensions, but the input has {rank_of(data)}.")
    normal = _standardized(build, data, axes, node.number("epsilon", 1e-5))[0]
    return _affine(build, normal, *_along(build, (scale, bias), rank_of(data)))


def _standardized(
    build: Builder, data: Expr, axes: tuple[int, ...], epsilon: float
) -> tuple[Expr, Expr, Expr]:
    """(x - mean) / sqrt(variance + epsilon), the mean, and 1 / sqrt(variance + epsilon)."""
    mean = build.call("mean", data, axis=axes, keepdims=True)
    centred = build.call("subtract", data, mean)
    square = build.call("multiply", centred, centred)
    variance = build.call("mean", square, axis=axes, keepdims=True)
    deviation = build.call("sqrt", shifted(build, variance, epsilon))
    inverse = build.call("divide", build.like(1, deviation), deviation)
    return build.call("multiply", centred, inverse), mean, inverse


def _affine(build: Builder, data: Expr, scale: Expr, bias: Expr | None) -> Expr:
    result = build.call("multiply", data, scale)
    return result if bias is None else build.call("add", result, bias)


def _stash_dtype(node: OnnxNode, dtype: str) -> str:
    """The type in which data is normalised: that of the attribute, but float64 as float64.

    The attribute says float32 where it is left out, also in files of float64, which every runtime
    normalises in float64.
    """
    asked = dtype_name(node.integer("stash_type", 1), "the intermediate result")
    return dtype if dtype == "float64" else asked


def translate_layer_normalization(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Normalisation of the last axes; also the mean and the inverse deviation."""
    data, scale, bias = node.input(0), node.input(1), node.optional(2)
    axis = checked_axis(node.integer("axis", -1), rank_of(data))
    epsilon, dtype = node.number("epsilon", 1e-5), dtype_of(data)
    stash = _stash_dtype(node, dtype)
    if stash == wide_dtype(dtype) and not _wants_statistics(node):
        whole = _flat_layer_norm(build, (data, scale, bias), axis, epsilon)
        if whole is not None:
            return [whole]
    axes = tuple(range(axis, rank_of(data)))
    normal, mean, inverse = _standardized(build, cast_to(build, data, stash), axes, epsilon)
    result = _affine(build, cast_to(build, normal, dtype), scale, bias)
    return [result, mean, inverse]


def _flat_layer_norm(
    build: Builder, inputs: tuple[Expr, Expr, Expr | None], axis: int, epsilon: float
) -> Expr | None:
    """nn.layer_norm over the axes from `axis` on as one; None if scale and bias broadcast."""
    data, scale, bias = inputs
    shape = shape_of(data)
    given = scale if bias is None else bias
    wanted = shape[axis:]
    if not are_known(wanted) or shape_of(scale) != wanted or shape_of(given) != wanted:
        return None
    vectors = [scale, given]
    if axis < len(shape) - 1:
        sizes = [dim for dim in shape if isinstance(dim, int) and dim > 0]
        if len(sizes) < len(shape):
            return None
        data = reshape_to(build, data, (*shape[:axis], math.prod(sizes[axis:])))
        vectors = [reshape_to(build, each, (math.prod(sizes[axis:]),)) for each in vectors]
    center = bias is not None
    result = build.call("nn.layer_norm", data, *vectors, axis=axis, epsilon=epsilon, center=center)
    return reshape_to(build, result, shape)


def _wants_statistics(node: OnnxNode) -> bool:
    return node.wants(1) or node.wants(2)


def translate_rms_normalization(node: OnnxNode, build: Builder) -> Expr:
    """The last axes divided by their root mean square."""
    data, scale = node.input(0), node.input(1)
    axes = tuple(range(checked_axis(node.integer("axis", -1), rank_of(data)), rank_of(data)))
    stash = _stash_dtype(node, dtype_of(data))
    wide = cast_to(build, data, stash)
    square = build.call("mean", build.call("multiply", wide, wide), axis=axes, keepdims=True)
    root = build.call("sqrt", shifted(build, square, node.number("epsilon", 1e-5)))
    normal = cast_to(build, build.call("divide", wide, root), dtype_of(data))
    return build.call("multiply", normal, scale)


def translate_group_normalization(node: OnnxNode, build: Builder) -> Expr:
    """Normalisation of groups of channels; scale and bias are per group before version 21."""
    data, scale, bias = (node.input(index) for index in range(3))
    groups = node.integer("num_groups")
    if rank_of(data) < 2:
        raise ModelError(f"expects at least 2 dimensions, but the input has {rank_of(data)}.")
    if node.opset >= 21:
        data = _with_channels_of(build, data, scale)
    batch, channels, *sizes = known_sizes(build, data)
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise ModelError(f"{groups} groups do not divide {channels} channels.")
    stash = _stash_dtype(node, dtype_of(data)) if node.opset >= 21 else dtype_of(data)
    parts = (batch, groups, size_quotient(build, channels, groups), *sizes)
    cut = reshape_to_known(build, cast_to(build, data, stash), parts)
    axes = tuple(range(2, rank_of(cut)))
    normal = _standardized(build, cut, axes, node.number("epsilon", 1e-5))[0]
    normal = cast_to(build, normal, dtype_of(data))
    if node.opset < 21:
        normal = _affine(build, normal, *_along(build, (scale, bias), rank_of(cut)))
        return reshape_like_source(build, normal, data)
    normal = reshape_like_source(build, normal, data)
    return _affine(build, normal, *_along(build, (scale, bias), rank_of(data)))


def _along(build: Builder, vectors: Sequence[Expr], rank: int) -> list[Expr]:
    """Vectors that broadcast along axis 1 of tensors of `rank` axes."""
    return [along_axis(build, each, rank, 1) for each in vectors]


def translate_lrn(node: OnnxNode, build: Builder) -> Expr:
    """Local response normalisation: squares are summed over `size` neighbouring channels."""
    data, size = node.input(0), node.integer("size")
    if rank_of(data) < 2 or not 1 <= size < 2**31:
        raise ModelError(f"a window of {size} channels over {rank_of(data)} dimensions.")
    return build.call(
        "nn.lrn",
        data,
        size=size,
        axis=1,
        bias=node.number("bias", 1.0),
        alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75),
    )


def translate_mean_variance_normalization(node: OnnxNode, build: Builder) -> Expr:
    """(x - mean) / (standard deviation + 1e-9).

    By default over all axes but the channels; of the axes 0, 2 and 3 those that there are.
    """
    data = node.input(0)
    rank = rank_of(data)
    given = node.integers("axes", tuple(axis for axis in (0, 2, 3) if axis < rank))
    axes = checked_axes(given, rank)
    mean = build.call("mean", data, axis=axes, keepdims=True)
    centred = build.call("subtract", data, mean)
    square = build.call("multiply", centred, centred)
    variance = build.call("mean", square, axis=axes, keepdims=True)
    return build.call("divide", centred, shifted(build, build.call("sqrt", variance), 1e-9))


def translate_lp_normalization(node: OnnxNode, build: Builder) -> Expr:
    """An axis divided by its p-norm; zero where the norm is zero."""
    data, order = node.input(0), node.integer("p", 2)
    if order not in (1, 2):
        raise ModelError(f"attribute p must be 1 or 2, but is {order}.")
    axis = checked_axis(node.integer("axis", -1), rank_of(data))
    total = build.call("sum", powers_of(build, data, order), axis=(axis,), keepdims=True)
    norm = root_of(build, total, order)
    is_zero = build.call("equal", norm, build.like(0, norm))
    safe = build.call("where", is_zero, build.like(1, norm), norm)
    zero = build.like(0, data)
    return build.call("where", is_zero, zero, build.call("divide", data, safe))


NORMALIZATIONS: Mapping[str, Translator] = {
    "BatchNormalization": translate_batch_normalization,
    "InstanceNormalization": in_wide(translate_instance_normalization),
    "LayerNormalization": translate_layer_normalization,
    "RMSNormalization": in_wide(translate_rms_normalization),
    "SimplifiedLayerNormalization": in_wide(translate_rms_normalization),
    "GroupNormalization": in_wide(translate_group_normalization),
    "LRN": translate_lrn,
    "MeanVarianceNormalization": in_wide(translate_mean_variance_normalization),
    "LpNormalization": in_wide(translate_lp_normalization),
}
