"""How much larger axes are than what is read along them: windows, so many elements, or indices.

    nn.max_pool1d(%x, pool_size=[5], padding=[1, 1])     on axis W: %x.shape[2] + 2 - 5

Less than zero, there is no window, and the arithmetic of the sizes of results means nothing: types
of a fixed size are refused, and sizes that a run tells are checked when they come. A pool has one
partial window where less than a step is missing. (If its windows move by 1, a room of -1 makes
none.)

    gather(%x, %i, axis=0)        on axis 1: %x.shape[1] - %i.shape[1]
    slice_like(%x, %y)            on all axes: %x.shape[n] - %y.shape[n]
    topk(%x, k=5, axis=0)         on axis 0: %x.shape[0] - 5
    strided_slice(%x, begin=[-1], end=[2147483647])    on axis 0: %x.shape[0] - 1

Indices that `take` clips or wraps need an axis with an element, unless there are none: n indices of
an axis of m elements leave a room of n (m - 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, multiply, product, subtract
from relay_tune.ir.expr import Call
from relay_tune.ir.known_type import known_type
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType
from relay_tune.op.index_check import index_subject
from relay_tune.op.layout_indices import spatial_letters
from relay_tune.op.slicing import axis_slices
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.layout import logical_dims
from relay_tune.typing.relations.convolution import conv
from relay_tune.typing.relations.indexing import (
    gather,
    scatter_elements,
    slice_like,
    strided_slice,
    take,
)
from relay_tune.typing.relations.pooling import adaptive_pool, grid_sample, pool, resize
from relay_tune.typing.relations.shape import pad, repeats_elements, sliding_window
from relay_tune.typing.relations.slice_sizes import sliced_size
from relay_tune.typing.relations.sorting import topk
from relay_tune.typing.relations.support import as_tuple
from relay_tune.typing.windows import pad_pairs, repeated_rooms, window_room

_ALONG = (gather, scatter_elements)
"""Relations of operators whose indices name positions along one axis, and lie as the others do."""


@dataclass(frozen=True, slots=True)
class WindowRoom:
    """Length of an axis, padding included, less the window's; it must not be negative.

    `message` is what is said where it is.
    """

    room: Dim
    message: str


def window_rooms(call: Call) -> Iterator[WindowRoom]:
    """The rooms of a typed call of an operator; none where it reads inside by its type."""
    if not isinstance(call.callee, Operator):
        return
    attributes: Any = call.attributes
    if attributes is None:
        attributes = call.callee.attributes()
    types = [known_type(argument) for argument in call.arguments]
    match call.callee.relation, types:
        case relation, [TensorType() as data, TensorType() as weight] if relation is conv:
            kernel = logical_dims(weight, attributes.kernel_layout)
            window = [kernel[letter] for letter in spatial_letters(attributes.data_layout)]
            yield from _moving(call, attributes, data, attributes.data_layout, window)
        case relation, [TensorType() as data] if relation is pool:
            rank = len(spatial_letters(attributes.layout))
            window = list(as_tuple(attributes.pool_size, rank, "pool_size"))
            yield from _moving(call, attributes, data, attributes.layout, window)
        case relation, [TensorType() as data] if relation is sliding_window:
            first = attributes.axis % len(data.shape)
            for axis, size in enumerate(attributes.window_shape, start=first):
                room = add(data.shape[axis], -size)
                yield WindowRoom(room, _message(call, str(axis), size, size))
        case relation, [TensorType() as data, *_] if relation is pad and repeats_elements(
            attributes
        ):
            for axis, room in repeated_rooms(data.shape, attributes.pad_width):
                yield WindowRoom(room, _no_elements(call, str(axis)))
        case relation, [TensorType() as data] if relation in (resize, adaptive_pool):
            yield from _resized(call, attributes, data)
        case relation, [TensorType() as data] if relation is topk:
            axis = attributes.axis % len(data.shape)
            room = add(data.shape[axis], -max(attributes.k, 0))
            yield WindowRoom(room, _too_few(call, str(axis), attributes.k))
        case relation, [TensorType() as data] if relation is strided_slice:
            for axis in _last_of(attributes, data):
                yield WindowRoom(add(data.shape[axis], -1), _no_elements(call, str(axis)))
        case relation, [TensorType() as data, TensorType() as grid] if relation is grid_sample:
            for axis, size in enumerate(data.shape[2:], start=2):
                points = product(grid.shape[2:])
                yield WindowRoom(multiply(points, add(size, -1)), _no_elements(call, str(axis)))
        case relation, [TensorType() as data, TensorType() as part] if relation is slice_like:
            yield from _beside(call, ("data", data), ("example", part), _cut_axes(attributes, part))
        case relation, [TensorType() as data, TensorType() as part, *more] if relation in _ALONG:
            others = [n for n in range(len(part.shape)) if n != attributes.axis % len(part.shape)]
            yield from _beside(call, ("data", data), ("indices", part), others)
            for updates in more:
                assert isinstance(updates, TensorType)  # the relation says so
                every = range(len(part.shape))
                yield from _beside(call, ("updates", updates), ("indices", part), every)
        case relation, [TensorType() as data, TensorType() as indices] if relation is take:
            if attributes.mode in ("clip", "wrap"):
                axes = data.shape if attributes.axis is None else (data.shape[attributes.axis],)
                room = multiply(product(indices.shape), add(product(axes), -1))
                subject = index_subject(call)
                yield WindowRoom(room, f"The axis that {subject} indexes has no elements.")


def _resized(call: Call, attributes: Any, data: TensorType) -> Iterator[WindowRoom]:
    """The rooms of data that become of another size, or of windows that cover them."""
    sizes = logical_dims(data, attributes.layout)
    letters = spatial_letters(attributes.layout)
    wanted = getattr(attributes, "size", None) or getattr(attributes, "output_size", None) or ()
    if wanted != ():
        for letter, size in zip(letters, as_tuple(wanted, len(letters), "size"), strict=True):
            if size:
                yield WindowRoom(add(sizes[letter], -1), _no_elements(call, letter))


def _last_of(attributes: Any, data: TensorType) -> Iterator[int]:
    """The axes of which a slice takes the last element: its size is 1 by its type."""
    for axis, cut in enumerate(axis_slices(attributes, len(data.shape))):
        if (
            cut.start == -1
            and sliced_size(data.shape[axis], cut.start, cut.stop, cut.step or 1) == 1
        ):
            yield axis


def _no_elements(call: Call, axis: str) -> str:
    return f"Axis {axis} of the data of {index_subject(call)} has no elements."


def _too_few(call: Call, axis: str, kept: int) -> str:
    return (
        f"Axis {axis} of the data of {index_subject(call)} has fewer elements than the {kept} kept."
    )


def _cut_axes(attributes: Any, example: TensorType) -> Iterable[int]:
    return [a % len(example.shape) for a in attributes.axes or range(len(example.shape))]


def _beside(
    call: Call, whole: tuple[str, TensorType], part: tuple[str, TensorType], axes: Iterable[int]
) -> Iterator[WindowRoom]:
    """The rooms of a tensor beside another one that says which of its elements are read."""
    for axis in axes:
        said = f"Axis {axis} of the {whole[0]} of {index_subject(call)} is smaller than"
        room = subtract(whole[1].shape[axis], part[1].shape[axis])
        yield WindowRoom(room, f"{said} that of its {part[0]}.")


def _moving(
    call: Call, attributes: Any, data: TensorType, layout: str, window: Sequence[Dim]
) -> Iterator[WindowRoom]:
    """The rooms of a convolution, or of a pool, over data in a layout."""
    letters, sizes = spatial_letters(layout), logical_dims(data, layout)
    pads = pad_pairs(attributes.padding, len(letters))
    strides = as_tuple(attributes.strides, len(letters), "strides")
    dilation = as_tuple(attributes.dilation, len(letters), "dilation")
    is_pool = hasattr(attributes, "ceil_mode")
    for n, letter in enumerate(letters):
        size = sizes[letter]
        if window[n] == 1:
            continue  # fits any axis
        room = window_room(size, window[n], dilation[n], pads[n])
        if is_pool:
            room = add(room, strides[n] - 1)
            if strides[n] == 1:
                room = add(room, 1)
        yield WindowRoom(room, _message(call, letter, window[n], subtract(size, room)))


def _message(call: Call, axis: str, window: Dim, least: Dim) -> str:
    return (
        f"Axis {axis} of the data of {index_subject(call)} is smaller than the window of {window}; "
        f"it needs a size of at least {least}."
    )
