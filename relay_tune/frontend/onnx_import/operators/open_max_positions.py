"""Where the maxima of windows stood, in images whose sizes only a run knows.

x: (n, c, h)    windows of 2, a step of 2
elements        (n, c, h // 2, 2), taken from x; the border's stand for those outside
argmax          (n, c, h // 2), which element of each window is the first largest
positions       2 * window + argmax, and h for each channel before
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of
from relay_tune.frontend.onnx_import.open_sizes import axis_size, positions
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.windows import Windows
from relay_tune.frontend.onnx_import.types import lowest_value
from relay_tune.ir.expr import Expr


def open_max_positions(
    build: Builder, data: Expr, values: Expr, windows: Windows, by_columns: bool
) -> Expr:
    """The position of each maximum in `values` among all elements of `data`, int64.

    Both are [batch, channels, spatial ...]. `by_columns` counts the spatial axes from the first.
    """
    rank = rank_of(data) - 2
    starts = [_starts(build, values, windows, axis) for axis in range(rank)]
    lasts = [_less_one(build, axis_size(build, data, axis + 2)) for axis in range(rank)]
    elements = data
    for axis in range(rank):
        elements = _with_elements(build, elements, starts[axis], lasts[axis], windows, axis)
    order = (0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2))
    elements = build.call("transpose", elements, axes=order)
    elements = build.call("reshape", elements, newshape=(*(0,) * (2 + rank), -1))
    chosen = cast_to(build, build.call("argmax", elements, axis=(2 + rank,)), "int64")
    coordinates: list[Expr] = []
    for axis in reversed(range(rank)):
        size = build.constant(windows.size[axis])
        digit = build.call("floor_mod", chosen, size)
        chosen = build.call("floor_divide", chosen, size)
        start = _before_axes(build, starts[axis], rank - axis - 1)
        step = build.call("multiply", digit, build.constant(windows.dilations[axis]))
        coordinates.insert(0, _clipped(build, build.call("add", start, step), lasts[axis]))
    return _numbered(build, data, coordinates, by_columns)


def _starts(build: Builder, values: Expr, windows: Windows, axis: int) -> Expr:
    """Where the windows begin along a spatial axis; in the padding that is below 0."""
    numbers = positions(build, values, axis + 2)
    scaled = build.call("multiply", numbers, build.constant(windows.strides[axis]))
    return build.call("subtract", scaled, build.constant(windows.before[axis]))


def _with_elements(
    build: Builder, data: Expr, starts: Expr, last: Expr, windows: Windows, axis: int
) -> Expr:
    """A spatial axis, behind those that were split before, as windows and their elements."""
    steps = build.constant(np.arange(windows.size[axis]) * windows.dilations[axis])
    taps = build.call("add", build.call("expand_dims", starts, axis=1), steps)
    position = 2 + 2 * axis
    found = build.call("take", data, _clipped(build, taps, last), axis=position)
    if windows.dilations[axis] == 1:
        return found  # what is outside became an element at the border, which the window has, too
    is_before = build.call("less", taps, build.constant(0))
    is_outside = build.call("logical_or", is_before, build.call("greater", taps, last))
    lowest = build.like(lowest_value(dtype_of(data)), data)
    mask = _before_axes(build, is_outside, rank_of(data) - position - 1)
    return build.call("where", mask, lowest, found)


def _numbered(build: Builder, data: Expr, coordinates: Sequence[Expr], by_columns: bool) -> Expr:
    """The numbers of elements that have coordinates in each channel."""
    rank = len(coordinates)
    sizes = [axis_size(build, data, axis) for axis in range(rank + 2)]
    step: Expr = build.constant(1)
    total: Expr = build.constant(0)
    for axis in range(rank) if by_columns else reversed(range(rank)):
        offset = build.call("multiply", coordinates[axis], step)
        total = build.call("add", total, offset)
        step = build.call("multiply", step, sizes[axis + 2])
    examples = build.call("expand_dims", positions(build, data, 0), axis=1)
    channels = build.call("multiply", examples, sizes[1])
    channels = build.call("add", channels, positions(build, data, 1))
    first = build.call("multiply", channels, step)
    return build.call("add", total, _before_axes(build, first, rank))


def _clipped(build: Builder, index: Expr, last: Expr) -> Expr:
    return build.call("minimum", build.call("maximum", index, build.constant(0)), last)


def _less_one(build: Builder, size: Expr) -> Expr:
    return build.call("subtract", size, build.constant(1))


def _before_axes(build: Builder, data: Expr, count: int) -> Expr:
    """`data` with so many axes of size 1 behind its own."""
    if count == 0:
        return data
    return build.call("expand_dims", data, axis=rank_of(data), num_newaxis=count)
