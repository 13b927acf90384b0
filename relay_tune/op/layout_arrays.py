"""Helpers of the network operators' numpy references: layouts, element types, padding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.op.elements import Array, wide_dtype
from relay_tune.tensor.scalar_semantics import is_float, numpy_dtype
from relay_tune.typing.layout import parse_layout


def summation_array(array: Array, dtype: str) -> Array:
    """`array` in a type whose matrix products are fast and exact enough for results of `dtype`.

    Integers go to float64, which is exact below 2^53 and, unlike integers, has a BLAS.
    """
    return array.astype(wide_dtype(dtype) if is_float(dtype) else "float64", copy=False)


def sums_as(sums: Array, dtype: str) -> Array:
    """Sums of a `summation_array` as results of `dtype`; those of integers wrap around."""
    to = numpy_dtype(dtype)
    wraps = not is_float(dtype) and to.itemsize < np.dtype(np.int64).itemsize
    return (sums.astype(np.int64) if wraps else sums).astype(to, copy=False)


def as_whole(array: Array, layout: str, letters: str) -> Array:
    """An array stored in `layout` with one whole axis a letter, in the order of `letters`."""
    axes = parse_layout(layout)
    order = [n for letter in letters for n, axis in enumerate(axes) if axis.letter == letter]
    sizes = [
        prod(array.shape[n] for n, axis in enumerate(axes) if axis.letter == letter)
        for letter in letters
    ]
    return array.transpose(order).reshape(sizes)


def as_stored(array: Array, letters: str, layout: str) -> Array:
    """The inverse of `as_whole`: an array with whole axes `letters`, stored in `layout`."""
    shape: list[int] = []
    labels: list[tuple[str, int]] = []
    for letter, size in zip(letters, array.shape, strict=True):
        factors = [axis.factor for axis in parse_layout(layout) if axis.letter == letter]
        blocks = [factor for factor in factors if factor]
        shape += [size // prod(blocks), *blocks]
        labels += [(letter, index) for index in range(len(factors))]
    seen: dict[str, int] = {}
    order: list[int] = []
    for axis in parse_layout(layout):
        order.append(labels.index((axis.letter, seen.get(axis.letter, 0))))
        seen[axis.letter] = seen.get(axis.letter, 0) + 1
    return np.ascontiguousarray(array.reshape(shape).transpose(order))


def window_slices(
    offsets: Sequence[int], outputs: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> tuple[slice, ...]:
    """Where, on the spatial axes, the inputs of all windows at `offsets` lie."""
    return tuple(
        slice(offset * step, offset * step + (extent - 1) * stride + 1, stride)
        for offset, extent, stride, step in zip(offsets, outputs, strides, dilation, strict=True)
    )


def pad_spatial_array(
    array: Array, before: Sequence[int], after: Sequence[int], value: Any
) -> Array:
    """`array` with its last axes extended by `value`."""
    width = [(0, 0)] * (array.ndim - len(before)) + list(zip(before, after, strict=True))
    if not any(map(any, width)):
        return array
    return np.pad(array, width, constant_values=value)
