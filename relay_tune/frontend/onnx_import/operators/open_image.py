"""Windows added to an image whose sizes only a run knows, one axis after the other.

    columns:        [batch, channels * block, windows]
    seen as:        [batch, channels, block 0, windows 0, block 1, windows 1]
    one axis done:  [batch, channels, block 0, windows 0, width]

Element h of an axis is the sum of the elements i of windows w with w * stride + i * dilation equal
to h and the padding before it.
"""

from __future__ import annotations

import math
from itertools import chain

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of
from relay_tune.frontend.onnx_import.open_sizes import (
    Size,
    known_size,
    known_sizes,
    positions_below,
    size_product,
    size_quotient,
    size_value,
)
from relay_tune.frontend.onnx_import.operators.reshape import reshape_to_known
from relay_tune.frontend.onnx_import.operators.windows import Windows
from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.expr import Expr


def open_image(build: Builder, data: Expr, windows: Windows, sizes: tuple[Size, ...]) -> Expr:
    """The image [batch, channels, sizes ...] of columns [batch, channels * block, windows].

    Raises ModelError if no whole number of channels has the columns' rows; a run in which the
    windows are not as many as the image has ends in an error.
    """
    rank, rows, elements = len(sizes), shape_of(data)[1], math.prod(windows.size)
    if isinstance(rows, int) and rows % elements:
        raise ModelError(f"{rows} rows are no blocks of {elements} elements.")
    counts = [_count(build, windows, axis, size) for axis, size in enumerate(sizes)]
    batch, channels = (
        known_size(build, data, 0),
        size_quotient(build, known_size(build, data, 1), elements),
    )
    seen = (batch, channels, *windows.size, *counts)
    data = reshape_to_known(build, data, seen, is_checked=True)
    pairs = chain.from_iterable((2 + axis, 2 + rank + axis) for axis in range(rank))
    data = build.call("transpose", data, axes=(0, 1, *pairs))
    for axis in reversed(range(rank)):
        data = _added(build, data, windows, axis, sizes[axis])
    return data


def _count(build: Builder, windows: Windows, axis: int, size: Size) -> Size:
    """How many windows there are along an axis."""
    span = (windows.size[axis] - 1) * windows.dilations[axis] + 1
    more = windows.before[axis] + windows.after[axis] - span
    step = windows.strides[axis]
    if isinstance(size, Expr):
        room: Size = build.call("add", size, build.constant(more + step))
    else:
        room = add(size, more + step)
    return size_quotient(build, room, step)


def _added(build: Builder, data: Expr, windows: Windows, axis: int, size: Size) -> Expr:
    """With the sums of an axis instead of its elements of windows and its windows."""
    block_axis = 2 + 2 * axis
    before, (block, count), after = (
        known_sizes(build, data)[part]
        for part in (
            slice(block_axis),
            slice(block_axis, block_axis + 2),
            slice(block_axis + 2, None),
        )
    )
    joined = (*before, size_product(build, (block, count)), *after)
    data = reshape_to_known(build, data, joined)
    zero, step = build.constant(0), build.constant(windows.strides[axis])
    limit = size_value(build, count)
    element = np.arange(windows.size[axis])[:, None]
    first = build.constant(windows.before[axis] - element * windows.dilations[axis])
    start = build.call("add", positions_below(build, size), first)
    window = build.call("floor_divide", start, step)
    conditions = (
        build.call("equal", build.call("multiply", window, step), start),
        build.call("greater_equal", window, zero),
        build.call("less", window, limit),
    )
    is_one = build.call("logical_and", build.call("logical_and", *conditions[:2]), conditions[2])
    index = build.call("add", build.call("multiply", build.constant(element), limit), window)
    found = build.call("take", data, build.call("where", is_one, index, zero), axis=block_axis)
    behind = rank_of(found) - block_axis - 2
    kept = build.call("expand_dims", is_one, axis=2, num_newaxis=behind) if behind else is_one
    found = build.call("where", kept, found, build.like(0, found))
    return build.call("sum", found, axis=(block_axis,))
