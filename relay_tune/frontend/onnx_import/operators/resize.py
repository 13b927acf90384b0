"""Resizing of ONNX: for each axis, which elements make up an element of the result, and how much.

The positions and weights are numbers that are found at import, so every mode of the standard is the
same computation: a sum of gathered slices times weights, axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    checked_axes,
    dtype_of,
    is_known,
    known_array,
    known_integers,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.open_resize import OpenTarget, resized_open
from relay_tune.frontend.onnx_import.operators.open_resize_targets import (
    WHOLE,
    targets_of_one_scale,
    targets_of_scales,
    targets_of_sizes,
)
from relay_tune.frontend.onnx_import.operators.resize_taps import (
    OLD_NEAREST,
    Axis,
    Sampling,
    Taps,
    axis_taps,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import integer_range, is_float
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

_POLICIES = ("stretch", "not_larger", "not_smaller")


@dataclass(frozen=True, slots=True)
class _Target:
    """The new size, the scale and the region of interest of one axis."""

    axis: int
    size: int
    scale: float
    region: tuple[float, float]


def translate_resize(node: OnnxNode, build: Builder) -> Expr:
    """A tensor of other sizes, by nearest, linear or cubic interpolation."""
    data = node.input(0)
    sampling = _sampling(node)
    if not _is_fixed(node, data):
        for each in _open_targets(node, build, data):
            data = resized_open(build, data, each, sampling)
        return data
    for target in _with_least_work(data, _targets(node, data, sampling)):
        data = _resized(build, data, target, sampling)
    return data


def translate_upsample(node: OnnxNode, build: Builder) -> Expr:
    """The older operator: by factors, with asymmetric coordinates."""
    data = node.input(0)
    if node.opset < 9:
        scales = [float(scale) for scale in node.numbers("scales")]
    else:
        scales = [] if not is_known(node.input(1)) else _numbers(node.input(1), "the input scales")
    mode = {"nearest": "nearest", "linear": "linear", "bilinear": "linear"}.get(
        node.text("mode", "nearest")
    )
    if mode is None or len(scales) not in (0, rank_of(data)):
        raise ModelError("the mode or the number of scales does not fit.")
    sampling = Sampling(mode, "asymmetric", "floor", -0.75, False, False, 0.0)
    if not scales or not all(isinstance(dim, int) for dim in shape_of(data)):
        given = scales or node.input(1)
        axes = tuple(range(rank_of(data)))
        for target in targets_of_scales(build, data, axes, given, [WHOLE] * len(axes)):
            data = resized_open(build, data, target, sampling)
        return data
    targets = [
        _scaled_target(data, axis, scale, (0, 1)) for axis, scale in enumerate(scales) if scale != 1
    ]
    for each in _with_least_work(data, targets):
        data = _resized(build, data, each, sampling)
    return data


def _with_least_work(data: Expr, targets: Sequence[_Target]) -> list[_Target]:
    """The axes in an order in which what lies between two of them is small.

    Axes that shrink come first. Of those that change alike, it is the last axis that is resized
    while the others are small: its elements are gathered, rows of others are read side by side.
    """

    def work(target: _Target) -> tuple[float, int]:
        growth = target.size / max(static_dim(shape_of(data)[target.axis]), 1)
        return growth, target.axis if growth < 1 else -target.axis

    return sorted(targets, key=work)


def _scales_and_sizes(node: OnnxNode) -> tuple[Expr | None, Expr | None]:
    """The inputs scales and sizes, one of which is given."""
    if node.opset < 11:
        return _given(node.input(1)), None
    scales, sizes = _given(node.optional(2)), _given(node.optional(3))
    if (scales is None) == (sizes is None):
        raise ModelError("either scales or sizes must be given.")
    return scales, sizes


def _axes(node: OnnxNode, data: Expr) -> tuple[int, ...]:
    if node.has("axes"):
        return checked_axes(node.integers("axes"), rank_of(data))
    return tuple(range(rank_of(data)))


def _is_fixed(node: OnnxNode, data: Expr) -> bool:
    """Whether the sizes of the axes that change, before and after, are numbers."""
    axes, (scales, sizes) = _axes(node, data), _scales_and_sizes(node)
    given = scales if sizes is None else sizes
    if given is None or not is_known(given):
        return False
    kept = [1.0] * len(axes) if sizes is None else [None] * len(axes)
    numbers = known_array(given, "the scales or sizes").reshape(-1).tolist()
    pairs = zip(axes, numbers, kept, strict=False)
    return all(isinstance(shape_of(data)[axis], int) or new == same for axis, new, same in pairs)


def _open_targets(node: OnnxNode, build: Builder, data: Expr) -> Iterator[OpenTarget]:
    axes, (scales, sizes) = _axes(node, data), _scales_and_sizes(node)
    regions = _regions(node, len(axes), _sampling(node)) if node.opset >= 11 else []
    regions = regions or [WHOLE] * len(axes)
    if sizes is None:
        return targets_of_scales(build, data, axes, [] if scales is None else scales, regions)
    policy = _policy(node)
    if policy == "stretch":
        return targets_of_sizes(build, data, axes, sizes, regions)
    choose = "minimum" if policy == "not_larger" else "maximum"
    return targets_of_one_scale(build, data, axes, sizes, choose)


def _policy(node: OnnxNode) -> str:
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy not in _POLICIES:
        raise ModelError(f"keep_aspect_ratio_policy has the unknown value {policy!r}.")
    return policy


def _sampling(node: OnnxNode) -> Sampling:
    old = node.opset < 11
    return Sampling(
        mode=node.text("mode", "nearest"),
        coordinates=node.text(
            "coordinate_transformation_mode", "asymmetric" if old else "half_pixel"
        ),
        rounding=OLD_NEAREST if old else node.text("nearest_mode", "round_prefer_floor"),
        cubic=node.number("cubic_coeff_a", -0.75),
        exclude_outside=node.flag("exclude_outside", 0),
        antialias=node.flag("antialias", 0),
        extrapolation=node.number("extrapolation_value", 0.0),
    )


def _targets(node: OnnxNode, data: Expr, sampling: Sampling) -> list[_Target]:
    """The axes that change."""
    axes, (scales, sizes) = _axes(node, data), _scales_and_sizes(node)
    regions = [(0.0, 1.0)] * len(axes)
    if node.opset >= 11:
        regions = _regions(node, len(axes), sampling)
    if sizes is not None:
        targets = _sized_targets(node, data, axes, known_integers(sizes, "the sizes"), regions)
    else:
        factors = _numbers(scales, "the input scales") if scales is not None else []
        _check_count(factors, axes)
        cropping = sampling.coordinates == "tf_crop_and_resize"
        targets = [
            _scaled_target(data, axis, factor, region, cropping)
            for axis, factor, region in zip(axes, factors, regions, strict=True)
            if factor != 1 or cropping
        ]
    return targets


def _given(expr: Expr | None) -> Expr | None:
    """An input that is there and not empty."""
    return None if expr is None or 0 in shape_of(expr) else expr


def _check_count(values: Sequence[float], axes: Sequence[int]) -> None:
    if len(values) != len(axes):
        raise ModelError(f"{len(values)} scales or sizes are given for {len(axes)} axes.")


def _numbers(expr: Expr, what: str) -> list[float]:
    array = known_array(expr, what)
    if array.ndim != 1 or array.dtype.kind != "f":
        raise ModelError(f"{what} must be a vector of floating-point numbers.")
    return [float(value) for value in array]


def _regions(node: OnnxNode, count: int, sampling: Sampling) -> list[tuple[float, float]]:
    roi = _given(node.optional(1))
    if roi is None or sampling.coordinates != "tf_crop_and_resize":
        return [(0.0, 1.0)] * count
    values = _numbers(roi, "the input roi")
    if len(values) != 2 * count:
        raise ModelError(
            f"the region of interest has {len(values)} numbers instead of {2 * count}."
        )
    return [(values[index], values[index + count]) for index in range(count)]


def _scaled_target(
    data: Expr, axis: int, scale: float, region: tuple[float, float], cropping: bool = False
) -> _Target:
    if not 0 < scale < 2**31:
        raise ModelError(f"the scale {scale} of axis {axis} is not a positive number.")
    length = static_dim(shape_of(data)[axis]) * (region[1] - region[0] if cropping else 1)
    return _Target(axis, int(np.floor(length * scale)), scale, region)


def _sized_targets(
    node: OnnxNode,
    data: Expr,
    axes: Sequence[int],
    sizes: Sequence[int],
    regions: Sequence[tuple[float, float]],
) -> list[_Target]:
    _check_count(sizes, axes)
    policy = _policy(node)
    lengths = [static_dim(shape_of(data)[axis]) for axis in axes]
    if any(size < 0 for size in sizes) or 0 in lengths:
        raise ModelError(f"the sizes {tuple(sizes)} cannot be made of {tuple(lengths)}.")
    scales = [size / length for size, length in zip(sizes, lengths, strict=True)]
    if policy != "stretch":
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(scales)
        sizes = [int(np.floor(scale * length + 0.5)) for length in lengths]
    return [
        _Target(axis, size, scale, region)
        for axis, size, scale, region in zip(axes, sizes, scales, regions, strict=True)
        if scale != 1 or region != (0.0, 1.0)
    ]


def _resized(build: Builder, data: Expr, target: _Target, sampling: Sampling) -> Expr:
    length = static_dim(shape_of(data)[target.axis])
    check_size(target.size, "float64")
    axis = Axis(length, target.size, target.scale, target.region)
    taps = axis_taps(axis, sampling)
    check_size(target.size * len(taps.places), "float64")
    if sampling.mode == "nearest":
        result = _taken(build, data, taps.places[0], target.axis)
    else:
        result = _weighted_sum(build, data, taps, target.axis)
    if taps.outside.any():
        column = _column(data, target.axis)
        outside = build.constant(taps.outside.reshape(column))
        result = build.call("where", outside, build.like(sampling.extrapolation, data), result)
    return result


def _taken(build: Builder, data: Expr, positions: np.ndarray, axis: int) -> Expr:
    return build.call("take", data, build.constant(positions, "int64"), axis=axis)


def _column(data: Expr, axis: int) -> tuple[int, ...]:
    return (-1, *(1,) * (rank_of(data) - axis - 1))


def _weighted_sum(build: Builder, data: Expr, taps: Taps, axis: int) -> Expr:
    if not is_float(dtype_of(data)):
        raise UnsupportedOperatorError(
            f"interpolation of {dtype_of(data)} is not supported; only of floating-point numbers."
        )
    total: Expr | None = None
    for positions, weights in zip(taps.places, taps.weights, strict=True):
        factor = build.constant(weights.reshape(_column(data, axis)), dtype_of(data))
        term = build.call("multiply", _taken(build, data, positions, axis), factor)
        total = term if total is None else build.call("add", total, term)
    if total is None:
        raise ModelError("the interpolation has no terms.")
    return total


def _in_floats(resize: Callable[[OnnxNode, Builder], Expr]) -> Translator:
    """`resize`, where integers are interpolated in floating point.

    Results between two integers go towards zero where the interpolation is linear, as in
    onnxruntime, and to the nearest one where weights are cubic or antialiased.
    """

    def translate(node: OnnxNode, build: Builder) -> Expr:
        data = node.input(0)
        dtype = dtype_of(data)
        if dtype == "bool" or is_float(dtype) or node.text("mode", "nearest") == "nearest":
            return resize(node, build)
        wide = build.call("cast", data, dtype="float32" if dtype in _BYTES else "float64")
        result = resize(replace(node, inputs=(wide, *node.inputs[1:])), build)
        if node.text("mode") == "cubic" or node.flag("antialias", 0):
            result = build.call("round", result)
        else:
            result = _past_whole_numbers(build, result)
        lowest, highest = (build.like(limit, result) for limit in integer_range(dtype))
        limited = build.call("minimum", build.call("maximum", result, lowest), highest)
        return build.call("cast", limited, dtype=dtype)

    return translate


_BYTES = ("int8", "uint8")

_SUM_ERROR = 2.0**-13
"""More than what a sum of bytes in float32, or of 32 bits in float64, is off: each of two or three
axes rounds a weight, a product and a sum, by up to 9 * 2**-24 of 255 in all."""


def _past_whole_numbers(build: Builder, result: Expr) -> Expr:
    """`result` a little further from zero, so that a sum which rounding left just short of a whole
    number is cut to that number: what is interpolated between equal elements is that element."""
    further, nearer = (build.like(each, result) for each in (_SUM_ERROR, -_SUM_ERROR))
    is_negative = build.call("less", result, build.like(0, result))
    return build.call("add", result, build.call("where", is_negative, nearer, further))


RESIZES: Mapping[str, Translator] = {
    "Resize": _in_floats(translate_resize),
    "Upsample": _in_floats(translate_upsample),
}
