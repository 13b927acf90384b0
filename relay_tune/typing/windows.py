"""Sizes of sliding windows: how many positions a convolution or pooling window takes on an axis.

The formulas are those of Dumoulin and Visin, "A guide to convolution arithmetic for deep learning"
(2016), relationships 6, 14 and 15, with padding that may differ at the two ends. Pools round the
quotient in it towards zero, as onnxruntime does: a window that is larger than the padded axis by
less than a step is one partial window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, floor_divide, maximum, multiply, subtract
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.operator import RelationError


def pad_pairs(padding: int | Sequence[int], axes: int) -> tuple[tuple[int, int], ...]:
    """(before, after) for each axis, from 1 number, 1 an axis, or all befores then all afters."""
    numbers = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(numbers) == 1:
        return ((numbers[0], numbers[0]),) * axes
    if len(numbers) == axes:
        return tuple((number, number) for number in numbers)
    if len(numbers) == 2 * axes:
        return tuple(zip(numbers[:axes], numbers[axes:], strict=True))
    raise RelationError(
        f"padding has {len(numbers)} values, but 1, {axes} or {2 * axes} are allowed for "
        f"{axes} spatial axes"
    )


def window_room(dim: Dim, window: Dim, dilation: int, pads: tuple[int, int]) -> Dim:
    """Length of an axis of size `dim`, padding included, less one window."""
    extent = add(multiply(add(window, -1), dilation), 1)
    return subtract(add(dim, sum(pads)), extent)


def window_count(
    axis: str, dim: Dim, window: Dim, stride: int, dilation: int, pads: tuple[int, int]
) -> Dim:
    """Window positions on an axis of size `dim`, partial ones not counted.

    A window of one element fits an axis without elements, too: no times.
    """
    if stride < 1:
        raise RelationError(f"the stride of axis {axis} is {stride}, but must be at least 1")
    room = window_room(dim, window, dilation, pads)
    extent = subtract(add(dim, sum(pads)), room)
    if isinstance(room, int) and room < 0 and extent != 1:
        raise RelationError(
            f"axis {axis} of size {dim}, padded by {pads[0]} and {pads[1]}, is smaller than "
            f"the window of {extent}"
        )
    return add(floor_divide(room, stride), 1)


def pool_window_count(
    axis: str, dim: Dim, window: Dim, stride: int, dilation: int, pads: tuple[int, int]
) -> Dim:
    """Window positions of a pool: 1 where the axis lacks less than a step for one window.

    0 where it lacks one element and windows move by one. Axes that lack more are refused where
    their size is known, and checked when they come elsewhere.
    """
    room = window_room(dim, window, dilation, pads)
    if isinstance(room, int) and -stride < room < 0:
        return 1
    count = _whole_windows(axis, dim, window, stride, dilation, pads)
    return count if stride == 1 or is_never_negative(room) else maximum(count, 1)


def _whole_windows(
    axis: str, dim: Dim, window: Dim, stride: int, dilation: int, pads: tuple[int, int]
) -> Dim:
    """`window_count`; 0 where one element is missing and windows move by one."""
    if stride == 1 and window_room(dim, window, dilation, pads) == -1:
        return 0
    return window_count(axis, dim, window, stride, dilation, pads)


def window_count_rounded_up(
    axis: str, dim: Dim, window: Dim, stride: int, dilation: int, pads: tuple[int, int]
) -> Dim:
    """Window positions with a partial last one, unless it would start in the padding behind."""
    wider = (pads[0], pads[1] + stride - 1)
    count = _whole_windows(axis, dim, window, stride, dilation, wider)
    extent = add(multiply(add(window, -1), dilation), 1)
    if not isinstance(extent, int) or wider[1] < extent:
        return count  # the last one starts before the padding
    if wider[1] >= extent + stride:
        return add(count, -1)  # it starts behind
    starts = add(dim, pads[0] + stride - 1)
    return floor_divide(starts, stride)


def transposed_size(
    dim: Dim, window: Dim, stride: int, dilation: int, pads: tuple[int, int], extra: int
) -> Dim:
    """The size that a transposed convolution makes of `dim`; `extra` is the output padding."""
    extent = add(multiply(add(window, -1), dilation), 1)
    return add(add(multiply(add(dim, -1), stride), extent), extra - sum(pads))


def repeated_rooms(
    shape: Sequence[Dim], widths: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, Dim]]:
    """How many elements more than the one that it needs each axis has that padding repeats.

    What negative widths cut off is gone before anything is repeated.
    """
    for axis, (dim, (before, after)) in enumerate(zip(shape, widths, strict=True)):
        if max(before, after) > 0:
            yield axis, add(dim, min(before, 0) + min(after, 0) - 1)
