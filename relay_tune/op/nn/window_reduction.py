"""Maximum and average over windows, in any layout: computation and reference of all pools."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.op.elements import Array, wide_dtype
from relay_tune.op.layout_arrays import pad_spatial_array, window_slices
from relay_tune.op.layout_indices import (
    ReductionAxes,
    cast_tensor,
    compute_elements,
    letter_positions,
    letter_sizes,
    load_at,
    quotient,
    spatial_letters,
    whole,
)
from relay_tune.op.nn.windows import Windows, pad_data
from relay_tune.tensor.expression import (
    Number,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    literal,
    reduce,
)
from relay_tune.tensor.scalar_semantics import is_float, numpy_dtype
from relay_tune.tensor.size import is_integer, is_symbolic, surely_less


def lowest_value(dtype: str) -> Number:
    """The value that no other value of `dtype` is smaller than."""
    if is_float(dtype):
        return float("-inf")
    return False if dtype == "bool" else int(np.iinfo(dtype).min)


def sum_dtype(dtype: str) -> str:
    """The element type in which a window of `dtype` is summed."""
    if is_float(dtype):
        return wide_dtype(dtype)
    return "int32" if np.dtype(dtype).itemsize < 4 else dtype


def reduce_windows(
    operation: str, data: Tensor, windows: Windows, layouts: tuple[str, str], shape: Sequence[int]
) -> Tensor:
    """`sum` or `max` over each window of `data`; layouts are those of the data and the result.

    What lies outside of the data counts as 0 in sums, as the lowest value in maxima. Short
    numbers are summed in a longer type, which is that of the result.
    """
    layout, out_layout = layouts
    dtype = sum_dtype(data.dtype) if operation == "sum" else data.dtype
    border = 0 if operation == "sum" else lowest_value(dtype)
    letters = spatial_letters(layout)
    after = _room_behind(data, windows, layouts, shape)
    padded = pad_data(data, layout, windows.before, after, border)

    def element(*axes: Scalar) -> Scalar:
        output = letter_positions(out_layout, axes)
        reduction = ReductionAxes()
        position = {"N": output["N"], "C": output["C"]}
        for n, letter in enumerate(letters):
            offset = reduction.add(f"k{letter.lower()}", windows.size[n])
            start = whole(output[letter]) * windows.strides[n]
            position[letter] = start + offset * windows.dilation[n]
        return reduce(operation, reduction.axes, cast(load_at(padded, layout, position), dtype))

    return compute_elements("windows", shape, element)


def average_windows(
    data: Tensor,
    windows: Windows,
    layouts: tuple[str, str],
    shape: Sequence[int],
    include_padding: bool,
) -> Tensor:
    """The average over each window; elements of the padding count only if asked."""
    total = reduce_windows("sum", data, windows, layouts, shape)
    letters = spatial_letters(layouts[1])
    sizes = letter_sizes(data.shape, layouts[0])
    outputs = letter_sizes(shape, layouts[1])

    def element(*axes: Scalar) -> Scalar:
        output = letter_positions(layouts[1], axes)
        counts = [
            _count(
                whole(output[letter]), outputs[letter], sizes[letter], windows, n, include_padding
            )
            for n, letter in enumerate(letters)
        ]
        return divide_by_count(total[axes], counts)

    return cast_tensor(compute_elements("average", shape, element), data.dtype)


def divide_by_count(total: Scalar, counts: Sequence[Scalar | int]) -> Scalar:
    """`total` divided by the product of `counts`; integers are rounded towards zero."""
    fixed = prod(count for count in counts if is_integer(count))
    varying = [count for count in counts if isinstance(count, Scalar)]
    if not varying and is_float(total.dtype) and not is_symbolic(fixed):
        return total * (1.0 / fixed)
    number: Scalar = literal(fixed, "int64")
    for count in varying:
        number = number * count
    divide = "div" if is_float(total.dtype) else "truncdiv"
    return binary(divide, total, cast(number, total.dtype))


def window_counts(
    outputs: int, size: int, windows: Windows, axis: int, include_padding: bool
) -> list[int]:
    """How many elements of the window count, at least 1, for each position on an axis of `size`."""
    low = 0 if include_padding else windows.before[axis]
    high = windows.before[axis] + size + (windows.after[axis] if include_padding else 0)
    offsets = [offset * windows.dilation[axis] for offset in range(windows.size[axis])]
    starts = [position * windows.strides[axis] for position in range(outputs)]
    return [max(1, sum(low <= start + offset < high for offset in offsets)) for start in starts]


def surely_covers(
    size: int, outputs: int, windows: Windows, axis: int, include_padding: bool
) -> bool:
    """Whether all windows on an axis of an open `size` count all of their elements."""
    low = 0 if include_padding else windows.before[axis]
    high = windows.before[axis] + size + (windows.after[axis] if include_padding else 0)
    last = (outputs - 1) * windows.strides[axis] + windows.span[axis]
    return low == 0 and surely_less(last, high + 1)


def _count(
    position: Scalar, outputs: int, size: int, windows: Windows, axis: int, include_padding: bool
) -> Scalar | int:
    """Count of the window at `position`: a number where it is the same everywhere."""
    if not is_symbolic(size):
        counts = window_counts(outputs, size, windows, axis, include_padding)
        if len(set(counts)) == 1:
            return counts[0]
    elif surely_covers(size, outputs, windows, axis, include_padding):
        return windows.size[axis]
    low = 0 if include_padding else windows.before[axis]
    high = windows.before[axis] + size + (windows.after[axis] if include_padding else 0)
    step = windows.dilation[axis]
    start = position * windows.strides[axis]
    first = binary("max", quotient(index_value(low + step - 1) - start, step), 0)
    last = binary("min", quotient(index_value(high + step - 1) - start, step), windows.size[axis])
    return binary("max", last - first, 1)


def _room_behind(
    data: Tensor, windows: Windows, layouts: tuple[str, str], shape: Sequence[int]
) -> list[int]:
    """How far the last window of each spatial axis reaches beyond the data."""
    sizes = letter_sizes(data.shape, layouts[0])
    outputs = letter_sizes(shape, layouts[1])
    reach = [
        (outputs[letter] - 1) * windows.strides[n] + windows.span[n]
        for n, letter in enumerate(spatial_letters(layouts[0]))
    ]
    return [
        _least_room(reach[n] - windows.before[n] - sizes[letter], windows, n)
        for n, letter in enumerate(spatial_letters(layouts[0]))
    ]


def _least_room(beyond: int, windows: Windows, axis: int) -> int:
    """`beyond`, or 0 if that is less; of an open size the most that it can be.

    Windows are counted such that none ends further behind the padding than a step is wide.
    """
    if not is_symbolic(beyond) or surely_less(beyond, 1):
        return max(0, beyond)
    return windows.after[axis] + windows.strides[axis] - 1


def reduce_windows_array(
    operation: str, data: Array, windows: Windows, outputs: Sequence[int]
) -> Array:
    """numpy form of `reduce_windows`, for data [batch, channel, spatial ...]."""
    dtype = sum_dtype(data.dtype.name) if operation == "sum" else data.dtype.name
    border = 0 if operation == "sum" else lowest_value(dtype)
    combine = np.add if operation == "sum" else np.maximum
    reach = [
        (extent - 1) * stride + span
        for extent, stride, span in zip(outputs, windows.strides, windows.span, strict=True)
    ]
    after = [
        max(0, extent - before - size)
        for extent, before, size in zip(reach, windows.before, data.shape[2:], strict=True)
    ]
    padded = pad_spatial_array(data.astype(numpy_dtype(dtype)), windows.before, after, border)
    result: Any = None
    for offset in np.ndindex(*windows.size):
        where = window_slices(offset, outputs, windows.strides, windows.dilation)
        shifted = padded[(slice(None), slice(None), *where)]
        result = shifted if result is None else combine(result, shifted)
    return np.array(result)


def average_windows_array(
    data: Array, windows: Windows, outputs: Sequence[int], include_padding: bool
) -> Array:
    """numpy form of `average_windows`, for data [batch, channel, spatial ...]."""
    total = reduce_windows_array("sum", data, windows, outputs)
    count: Array = np.ones((), "int64")
    for axis, (extent, size) in enumerate(zip(outputs, data.shape[2:], strict=True)):
        counts = window_counts(extent, size, windows, axis, include_padding)
        count = count[..., None] * np.array(counts)
    return divide_array(total, count).astype(data.dtype)


def divide_array(total: Array, count: Array) -> Array:
    """`total / count`; integers are rounded towards zero."""
    if is_float(total.dtype.name):
        return np.asarray(total / count.astype(total.dtype))
    return np.asarray(np.sign(total) * (np.abs(total) // count.astype(total.dtype)))
