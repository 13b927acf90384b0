"""Pools of ONNX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
    static_shape,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size
from relay_tune.frontend.onnx_import.operators.activation import scaled
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.open_max_positions import open_max_positions
from relay_tune.frontend.onnx_import.operators.same_padding import with_same_padding
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import in_wide
from relay_tune.frontend.onnx_import.operators.window_elements import max_pool_with_indices
from relay_tune.frontend.onnx_import.operators.windows import Windows, spatial_rank, windows_of
from relay_tune.frontend.onnx_import.types import lowest_value
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Expr

_AVERAGES_STOP_AT_THE_PADDING = 19
"""The operator set since which onnxruntime divides by what of a window is in the padded data, also
where it is no rounding up that makes a window reach beyond."""


def _is_open(data: Expr) -> bool:
    """Whether only a run knows some of the spatial sizes."""
    return not all(isinstance(dim, int) for dim in shape_of(data)[2:])


def _windows(node: OnnxNode, data: Expr, overhangs: bool = False) -> Windows:
    """The windows of a pool.

    Those that are not full reach into an overhang where all sizes are known, or where it is asked
    for; elsewhere Relay's pools count them.
    """
    spatial_rank(rank_of(data))
    sizes, kernel = shape_of(data)[2:], node.integers("kernel_shape")
    overhangs = overhangs or not _is_open(data)
    windows = windows_of(node, sizes, kernel, partial=True, overhangs=overhangs)
    for size, spread, *pads in zip(
        windows.size, windows.dilations, windows.before, windows.after, strict=True
    ):
        if max(pads) > (size - 1) * spread:
            raise ModelError(
                f"a padding of {max(pads)} leaves windows of {size} without an element."
            )
    return windows


def _pool(build: Builder, kind: str, data: Expr, windows: Windows, **attributes: bool) -> Expr:
    counts = [_count(windows, axis, dim) for axis, dim in enumerate(shape_of(data)[2:])]
    if min(counts) == 0:
        shape = (*static_shape(data)[:2], *counts)
        return build.filled(shape, 0, dtype_of(data))
    return build.call(
        f"nn.{kind}_pool{rank_of(data) - 2}d",
        data,
        pool_size=windows.size,
        strides=windows.strides,
        dilation=windows.dilations,
        padding=windows.padding,
        **attributes,
    )


def _count(windows: Windows, axis: int, dim: Dim) -> int:
    """How many windows there are along an axis; 1 where its size is known at run time only."""
    return windows.count(axis, dim) if isinstance(dim, int) else 1


def _rounds_up(node: OnnxNode, data: Expr) -> bool:
    """Whether Relay's pool has to count windows that are not full."""
    return node.flag("ceil_mode", 0) and _is_open(data)


def translate_max_pool(node: OnnxNode, build: Builder) -> Expr | list[Expr | None]:
    """The maximum of each window, and where it stood if that is asked for."""
    if node.wants(1) and not _is_open(node.input(0)):
        return max_pool_with_indices(node, build)
    lowest = build.like(lowest_value(dtype_of(node.input(0))), node.input(0))
    padded = with_same_padding(node, build, node.integers("kernel_shape"), lowest)
    data = padded.input(0)
    windows = _windows(padded, data)
    values = _pool(build, "max", data, windows, ceil_mode=_rounds_up(padded, data))
    if not node.wants(1):
        return values
    if padded is not node:
        raise UnsupportedOperatorError(
            "indices of maxima in windows of dynamic size are supported with explicit padding only."
        )
    by_columns = node.flag("storage_order", 0)
    return [values, open_max_positions(build, data, values, windows, by_columns)]


def translate_average_pool(node: OnnxNode, build: Builder) -> Expr:
    """The average of each window, with or without the padding in it."""
    kernel, data = node.integers("kernel_shape"), node.input(0)
    zero = build.like(0, data)
    padded = with_same_padding(node, build, kernel, zero)
    averages = _average(padded, build)
    if padded is node or node.flag("count_include_pad", 0):
        return averages
    ones = replace(node, inputs=(build.call("ones_like", data),))
    counted = _average(with_same_padding(ones, build, kernel, zero), build)
    return build.call("divide", averages, counted)


def _average(node: OnnxNode, build: Builder) -> Expr:
    data = node.input(0)
    windows = _windows(node, data)
    included, rounds_up = node.flag("count_include_pad", 0), _rounds_up(node, data)
    result = _pool(build, "avg", data, windows, count_include_pad=included, ceil_mode=rounds_up)
    if not included:
        return result
    counts_all = node.opset < _AVERAGES_STOP_AT_THE_PADDING and not node.flag("ceil_mode", 0)
    if counts_all:
        return _over_full_windows(build, result, data, windows)
    if not any(windows.overhang):
        return result
    factor = _overhang_factor(windows, [static_dim(dim) for dim in shape_of(data)[2:]])
    return build.call("multiply", result, build.constant(factor, dtype_of(data)))


def _over_full_windows(build: Builder, averages: Expr, data: Expr, windows: Windows) -> Expr:
    """Averages over what of a window is in the padded data, as averages over all of the window.

    They differ where the only window of an axis is larger than the axis, which only a run knows.
    """
    for axis, dim in enumerate(shape_of(data)[2:]):
        span = (windows.size[axis] - 1) * windows.dilations[axis] + 1
        pads = windows.before[axis] + windows.after[axis] + windows.overhang[axis]
        if is_never_negative(add(dim, pads - span)):
            continue
        end = build.call("add", axis_size(build, data, axis + 2), build.constant(pads, "int64"))
        spread = build.constant(windows.dilations[axis], "int64")
        last = build.call("subtract", end, build.constant(1, "int64"))
        inside = build.call("add", build.call("floor_divide", last, spread), build.constant(1))
        full = build.constant(windows.size[axis], "int64")
        inside = cast_to(build, build.call("minimum", inside, full), dtype_of(data))
        averages = build.call("multiply", averages, inside)
        averages = build.call("divide", averages, build.like(windows.size[axis], data))
    return averages


def _overhang_factor(windows: Windows, sizes: Sequence[int]) -> np.ndarray:
    """Window elements divided by those that are in the data or its padding, for each window."""
    factor = np.ones((1, 1, *(1,) * len(sizes)))
    elements = 1
    for axis, size in enumerate(sizes):
        end = size + windows.before[axis] + windows.after[axis]
        step, spread = windows.strides[axis], windows.dilations[axis]
        span = (windows.size[axis] - 1) * spread + 1
        count = (end + windows.overhang[axis] - span) // step + 1
        elements *= count
        check_size(elements, "float64")
        room = end - np.arange(count) * step
        inside = np.clip(-(-room // spread), 1, windows.size[axis])
        column = (windows.size[axis] / inside).reshape((count,) + (1,) * (len(sizes) - axis - 1))
        factor = factor * column
    return factor


def translate_lp_pool(node: OnnxNode, build: Builder) -> Expr:
    """The p-norm of each window."""
    node = with_same_padding(
        node, build, node.integers("kernel_shape"), build.like(0, node.input(0))
    )
    data = node.input(0)
    windows = _windows(node, data, overhangs=node.flag("ceil_mode", 0))
    order = _order(node)
    powers = powers_of(build, data, order)
    average = _pool(build, "avg", powers, windows, count_include_pad=True)
    average = _over_full_windows(build, average, data, windows)
    total = scaled(build, average, math.prod(windows.size))
    return root_of(build, total, order)


def powers_of(build: Builder, data: Expr, order: int) -> Expr:
    """|x| ** order."""
    if order == 2:
        return build.call("multiply", data, data)
    magnitude = build.call("abs", data)
    return magnitude if order == 1 else build.call("power", magnitude, build.like(order, data))


def root_of(build: Builder, data: Expr, order: int) -> Expr:
    """x ** (1 / order)."""
    if order == 1:
        return data
    return (
        build.call("sqrt", data)
        if order == 2
        else build.call("power", data, build.like(1 / order, data))
    )


def _order(node: OnnxNode) -> int:
    order = node.integer("p", 2)
    if order < 1:
        raise ModelError(f"attribute p must be at least 1, but is {order}.")
    return order


def _spatial_axes(data: Expr) -> tuple[int, ...]:
    if rank_of(data) < 3:
        raise ModelError(f"expects at least 3 dimensions, but the input has {rank_of(data)}.")
    return tuple(range(2, rank_of(data)))


def _global(name: str) -> Translator:
    def translate(node: OnnxNode, build: Builder) -> Expr:
        data = node.input(0)
        return build.call(name, data, axis=_spatial_axes(data), keepdims=True)

    return translate


def translate_global_lp_pool(node: OnnxNode, build: Builder) -> Expr:
    """The p-norm of each channel."""
    data, order = node.input(0), _order(node)
    powers = powers_of(build, data, order)
    total = build.call("sum", powers, axis=_spatial_axes(data), keepdims=True)
    return root_of(build, total, order)


POOLS: Mapping[str, Translator] = {
    "MaxPool": translate_max_pool,
    "AveragePool": translate_average_pool,
    "LpPool": in_wide(translate_lp_pool),
    "GlobalAveragePool": _global("mean"),
    "GlobalMaxPool": _global("max"),
    "GlobalLpPool": in_wide(translate_global_lp_pool),
}
