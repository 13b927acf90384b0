"""Operators that say which element of a window is meant: maxima with their indices, and folding.

Which elements a window has is known when the model is imported: a table of positions. Images whose
sizes only a run knows are in `open_image`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    known_integers,
    rank_of,
    shape_of,
    static_dim,
    static_shape,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    dims_of,
    known_size,
    positions,
    reshape_to_sizes,
    with_size,
)
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.open_image import open_image
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.windows import (
    Windows,
    checked_numbers,
    spatial_rank,
    windows_of,
)
from relay_tune.frontend.onnx_import.symbolic import vector_sizes
from relay_tune.frontend.onnx_import.types import lowest_value
from relay_tune.ir.dim_arithmetic import floor_divide
from relay_tune.ir.expr import Expr


def element_positions(windows: Windows, sizes: Sequence[int]) -> tuple[np.ndarray, list[int]]:
    """The coordinates of each element of each window in the data, and the number of windows.

    The array is [axis, window, element]; coordinates in the padding are below 0 or too large.
    """
    axes, counts = [], []
    for axis, size in enumerate(sizes):
        span = (windows.size[axis] - 1) * windows.dilations[axis] + 1
        room = size + windows.before[axis] + windows.after[axis] + windows.overhang[axis] - span
        if room < 0:
            raise ModelError(f"a window of {span} elements does not fit an axis of size {size}.")
        counts.append(room // windows.strides[axis] + 1)
        starts = np.arange(counts[-1]) * windows.strides[axis] - windows.before[axis]
        axes.append(starts[:, None] + np.arange(windows.size[axis]) * windows.dilations[axis])
    check_size(math.prod(counts) * math.prod(windows.size), "int64")
    rank = len(sizes)
    grids = []
    for axis, table in enumerate(axes):
        shape = [1] * (2 * rank)
        shape[axis], shape[axis + rank] = table.shape
        full = np.broadcast_to(table.reshape(shape), (*counts, *windows.size))
        grids.append(full.reshape(math.prod(counts), -1))
    return np.stack(grids), counts


def max_pool_with_indices(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The maximum of each window, and its position among all elements of the input."""
    data = node.input(0)
    sizes = [static_dim(dim) for dim in shape_of(data)[2 : 2 + spatial_rank(rank_of(data))]]
    windows = windows_of(node, sizes, node.integers("kernel_shape"), partial=True)
    wanted = [windows.count(axis, size) for axis, size in enumerate(sizes)]
    if 0 in wanted:
        shape = (*static_shape(data)[:2], *wanted)
        return [build.filled(shape, 0, dtype) for dtype in (dtype_of(data), "int64")]
    coordinates, counts = element_positions(windows, sizes)
    limits = np.array(sizes)[:, None, None]
    inside = ((coordinates >= 0) & (coordinates < limits)).all(axis=0)
    clipped = tuple(np.clip(coordinates, 0, limits - 1))
    flat = build.call("reshape", data, newshape=(0, 0, math.prod(sizes)))
    sources = build.constant(np.ravel_multi_index(clipped, sizes))
    elements = build.call("take", flat, sources, axis=2)
    lowest = build.like(lowest_value(dtype_of(data)), data)
    elements = build.call("where", build.constant(inside), elements, lowest)
    chosen = cast_to(build, build.call("argmax", elements, axis=(3,)), "int64")
    values = build.call("max", elements, axis=(3,))
    names = np.ravel_multi_index(clipped, sizes)
    if node.flag("storage_order", 0):  # column by column
        names = np.ravel_multi_index(clipped[::-1], sizes[::-1])
    first = build.constant(np.arange(len(names)) * names.shape[1])
    index = build.call("add", chosen, first)
    index = build.call("take", build.constant(names.reshape(-1)), index, axis=0)
    offset = build.call("multiply", _channel_numbers(build, data), build.constant(math.prod(sizes)))
    indices = build.call("add", index, offset)
    shape = (0, 0, *counts)
    return [build.call("reshape", each, newshape=shape) for each in (values, indices)]


def _channel_numbers(build: Builder, data: Expr) -> Expr:
    """The number of each channel of each example, [batch, channels, 1]."""
    channels = static_dim(shape_of(data)[1])
    column = build.call("expand_dims", positions(build, data, 0), axis=1, num_newaxis=2)
    first = build.call("multiply", column, build.constant(channels))
    return build.call("add", first, build.constant(np.arange(channels).reshape(1, channels, 1)))


def translate_max_unpool(node: OnnxNode, build: Builder) -> Expr:
    """Elements written where they stood before a maximum pool, 0 elsewhere."""
    data, indices = node.input(0), node.input(1)
    shape = static_shape(data)
    rank = spatial_rank(len(shape))
    kernel = checked_numbers(node.integers("kernel_shape"), rank, "kernel_shape", 1)
    strides = checked_numbers(node.integers("strides", (1,) * rank), rank, "strides", 1)
    pads = checked_numbers(node.integers("pads", (0,) * (2 * rank)), 2 * rank, "pads", 0)
    sizes = [
        (shape[axis + 2] - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + rank]
        for axis in range(rank)
    ]
    wanted = node.optional(2)
    given = None if wanted is None else known_integers(wanted, "the input output_shape")
    if given is not None and (len(given) != rank + 2 or given[:2] != shape[:2]):
        raise ModelError(f"the output_shape {given} does not fit the input.")
    result = (*shape[:2], *sizes)
    check_size(math.prod(result), dtype_of(data))
    zeros = build.filled((math.prod(result),), 0, dtype_of(data))
    flat = [build.call("reshape", each, newshape=(-1,)) for each in (indices, data)]
    written = build.call("scatter_elements", zeros, *flat, axis=0, reduction="update")
    written = build.call("reshape", written, newshape=result)
    return written if given is None else _resized(build, written, given)


def _resized(build: Builder, data: Expr, shape: Sequence[int]) -> Expr:
    """With zeros behind each axis, or without its last elements."""
    sizes = static_shape(data)
    kept = tuple(min(pair) for pair in zip(sizes, shape, strict=True))
    if kept != sizes:
        zero, one = (0,) * len(kept), (1,) * len(kept)
        data = build.call("strided_slice", data, begin=zero, end=kept, strides=one)
    widths = tuple((0, size - old) for size, old in zip(shape, kept, strict=True))
    if not any(behind for _, behind in widths):
        return data
    return build.call("nn.pad", data, build.like(0, data), pad_width=widths, pad_mode="constant")


def translate_col2im(node: OnnxNode, build: Builder) -> Expr:
    """Windows, one a column, added to an image where they lie over each other."""
    data = node.input(0)
    wanted = vector_sizes(build, node.input(1), "the input image_shape")
    block = known_integers(node.input(2), "the input block_shape")
    if rank_of(data) != 3 or not wanted or len(block) != len(wanted):
        raise ModelError("expects columns [batch, channels * block, windows].")
    windows = windows_of(node, dims_of(wanted), block)
    sizes = tuple(size for size in wanted if isinstance(size, int))
    if len(sizes) < len(wanted):
        return open_image(build, data, windows, wanted)
    coordinates, counts = element_positions(windows, sizes)
    data = with_size(build, data, 2, math.prod(counts))
    rows, columns = shape_of(data)[1:]
    elements = math.prod(block)
    if columns != math.prod(counts) or (isinstance(rows, int) and rows % elements):
        raise ModelError(f"{columns} windows of {elements} elements do not cover {tuple(sizes)}.")
    limits = np.array(sizes)[:, None, None]
    inside = ((coordinates >= 0) & (coordinates < limits)).all(axis=0)
    target = np.ravel_multi_index(tuple(np.clip(coordinates, 0, limits - 1)), sizes)
    target = np.where(inside, target, math.prod(sizes)).T.reshape(-1)
    if isinstance(rows, int):
        data = build.call("reshape", data, newshape=(0, rows // elements, -1))
    else:
        whole = (known_size(build, data, 0), floor_divide(rows, elements), elements * columns)
        data = reshape_to_sizes(build, data, whole)
    return _added(build, data, target, sizes)


def _added(build: Builder, data: Expr, target: np.ndarray, sizes: tuple[int, ...]) -> Expr:
    """Elements of each example and channel summed by position; the position behind all is lost.

    The elements of a position are gathered from a table with a row for each, padded with zeros.
    """
    count = math.prod(sizes)
    order = np.argsort(target, kind="stable")
    ordered = target[order]
    starts = np.searchsorted(ordered, np.arange(count + 1))
    most = max(1, int(np.diff(starts).max(initial=0)))
    columns = starts[:-1, None] + np.arange(most)
    filled = columns < starts[1:, None]
    last = len(order) - 1
    table = np.where(filled, order[np.minimum(columns, last)] if last >= 0 else 0, 0)
    found = build.call("take", data, build.constant(table), axis=2)
    found = build.call("where", build.constant(filled), found, build.like(0, data))
    return build.call("reshape", build.call("sum", found, axis=(3,)), newshape=(0, 0, *sizes))


WINDOW_ELEMENTS: Mapping[str, Translator] = {
    "MaxUnpool": translate_max_unpool,
    "Col2Im": translate_col2im,
}
