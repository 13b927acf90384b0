"""Parts of a tensor by position known in advance: strided_slice, slice_like, strided_set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.dynamic_sizes import bounds_of_slice
from relay_tune.op.elements import Array, all_of, load_at, moved
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, binary, index_value, literal, select
from relay_tune.tensor.size import dim_of, is_symbolic, surely_less
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.indexing import slice_like as slice_like_relation
from relay_tune.typing.relations.indexing import strided_set as strided_set_relation
from relay_tune.typing.relations.indexing import strided_slice as strided_slice_relation
from relay_tune.typing.relations.shape import sliding_window as sliding_window_relation
from relay_tune.typing.relations.slice_sizes import sliced_size


@dataclass(frozen=True)
class StridedSliceAttributes(Attributes):
    """Attributes of strided_slice; with the meaning of `begin:end:stride` in Python.

    Attributes:
        begin: the first position of each axis; None: from the start.
        end: the position behind the last one of each axis; None: to the end.
        strides: steps; one for each axis or one for all; None: 1.
        axes: the axes that are cut; None: the first ones.
        slice_mode: "end", or "size": `end` holds sizes, -1 for all that is left.
    """

    begin: tuple[int | None, ...]
    end: tuple[int | None, ...]
    strides: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None
    slice_mode: str = "end"


@dataclass(frozen=True)
class StridedSetAttributes(Attributes):
    """Attributes of strided_set; with the meaning of `begin:end:stride` in Python.

    Attributes:
        begin: the first position of each axis, from the first axis on.
        end: the position behind the last one of each axis.
        strides: steps; None: 1.
    """

    begin: tuple[int | None, ...]
    end: tuple[int | None, ...]
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SliceLikeAttributes(Attributes):
    """Attributes of slice_like.

    Attributes:
        axes: the axes to cut; None: all.
    """

    axes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SlidingWindowAttributes(Attributes):
    """Attributes of sliding_window.

    Attributes:
        axis: the first axis that the window slides along.
        window_shape: sizes of the window, from `axis` on.
        strides: steps of the window.
    """

    axis: int
    window_shape: tuple[int, ...]
    strides: tuple[int, ...]


def axis_slices(attributes: Any, rank: int) -> tuple[slice, ...]:
    """One Python slice for each axis of a tensor of `rank` axes."""
    slices = [slice(None)] * rank
    axes = getattr(attributes, "axes", None) or range(len(attributes.begin))
    by_size = getattr(attributes, "slice_mode", "end") == "size"
    strides = () if by_size else tuple(attributes.strides or ())
    for index, axis in enumerate(axes):
        begin, end = attributes.begin[index], attributes.end[index]
        if by_size:
            end = None if end == -1 else begin + end
        stride = strides[min(index, len(strides) - 1)] if strides else 1
        slices[axis] = slice(begin, end, stride)
    return tuple(slices)


def slice_positions(attributes: Any, shape: Sequence[int]) -> tuple[range, ...]:
    """The positions that are taken from each axis of a tensor of `shape`."""
    slices = axis_slices(attributes, len(shape))
    return tuple(range(*cut.indices(size)) for cut, size in zip(slices, shape, strict=True))


def _strided_slice(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    cuts = axis_slices(attributes, data.rank)

    def source_indices(*output: Scalar) -> list[Scalar]:
        parts = zip(output, cuts, data.shape, strict=True)
        return [axis * (cut.step or 1) + _first_position(cut, size) for axis, cut, size in parts]

    return [moved("strided_slice", types[0], data, source_indices)]


def _first_position(cut: slice, size: int) -> Scalar:
    if not is_symbolic(size):
        return index_value(range(*cut.indices(size)).start)
    start = cut.start or 0
    first = start + size if start < 0 else start
    if (cut.step or 1) > 0 and surely_less(-1, first) and surely_less(first, size + 1):
        return index_value(first)  # a load that begins at a known position is affine
    return bounds_of_slice(*_bounds(cut, size), size)[0]


def _bounds(cut: slice, size: int) -> tuple[Scalar, Scalar, Scalar]:
    """The bounds of a slice of an open axis, with what Python means where there is none."""
    stride = cut.step or 1
    whole = (0, size) if stride > 0 else (-1, -size - 1)
    begin = whole[0] if cut.start is None else cut.start
    end = whole[1] if cut.stop is None else cut.stop
    return index_value(begin), index_value(end), index_value(stride)


def _strided_slice_sizes(attributes: Any, inputs: Any, types: Any) -> list[Scalar]:
    """The sizes of axes whose ends may lie on either side of a bound."""
    (data,) = inputs
    found = []
    for cut, size in zip(axis_slices(attributes, data.rank), data.shape, strict=True):
        if sliced_size(dim_of(size), cut.start, cut.stop, cut.step or 1) == UNKNOWN:
            found.append(bounds_of_slice(*_bounds(cut, size), size)[1])
    return found


def _strided_slice_reference(attributes: StridedSliceAttributes, data: Array) -> Array:
    return data[axis_slices(attributes, data.ndim)]


def _slice_like(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    return [moved("slice_like", types[0], inputs[0], lambda *output: output)]


def _slice_like_reference(attributes: SliceLikeAttributes, data: Array, like: Array) -> Array:
    slices = [slice(None)] * data.ndim
    for axis in attributes.axes or range(data.ndim):
        slices[axis] = slice(like.shape[axis])
    return data[tuple(slices)]


def _strided_set(attributes: StridedSetAttributes, inputs: Any, types: Any) -> list[Any]:
    data, values = inputs
    positions = slice_positions(attributes, data.shape)

    def element(*output: Scalar) -> Scalar:
        tests: list[Scalar] = []
        indices: list[Scalar] = []
        for axis, taken in zip(output, positions, strict=True):
            axis_tests, position = _position_in_range(axis, taken)
            tests += axis_tests
            indices.append(position)
        return select(all_of(tests), load_at(values, indices), load_at(data, output))

    return [compute("strided_set", data.shape, element)]


def _position_in_range(index: Scalar, taken: range) -> tuple[list[Scalar], Scalar]:
    """The tests whether `index` is in a range, and its position there."""
    if not taken:
        return [literal(False, "bool")], literal(0, INDEX)
    ascending = taken if taken.step > 0 else taken[::-1]
    distance, step = index - ascending.start, ascending.step
    tests = [binary("ge", distance, 0), binary("le", index, ascending[-1])]
    if step != 1:
        tests.append(binary("eq", binary("floormod", distance, step), 0))
    position = binary("floordiv", distance, step)
    return tests, position if taken.step > 0 else binary("sub", len(taken) - 1, position)


def _strided_set_reference(attributes: StridedSetAttributes, data: Array, values: Array) -> Array:
    result = data.copy()
    result[axis_slices(attributes, data.ndim)] = values
    return result


def _sliding_window(attributes: SlidingWindowAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    first = attributes.axis % data.rank
    strides = attributes.strides

    def source_indices(*output: Scalar) -> list[Scalar]:
        windows, offsets = output[first : data.rank], output[data.rank :]
        starts = [window * stride for window, stride in zip(windows, strides, strict=True)]
        inside = [start + offset for start, offset in zip(starts, offsets, strict=True)]
        return [*output[:first], *inside]

    return [moved("sliding_window", types[0], data, source_indices)]


def _sliding_window_reference(attributes: SlidingWindowAttributes, data: Array) -> Array:
    first = attributes.axis % data.ndim
    axes = tuple(range(first, data.ndim))
    view = np.lib.stride_tricks.sliding_window_view(data, attributes.window_shape, axes)
    steps = tuple(slice(None, None, stride) for stride in attributes.strides)
    return view[(slice(None),) * first + steps]


strided_slice = define(
    name="strided_slice",
    arguments=("data",),
    relation=strided_slice_relation,
    kind=FusionKind.INJECTIVE,
    attributes=StridedSliceAttributes,
    compute=_strided_slice,
    sizes=_strided_slice_sizes,
    reference=_strided_slice_reference,
    documentation="data[begin:end:stride] along some axes, as in Python.",
)
slice_like = define(
    name="slice_like",
    arguments=("data", "shape_like"),
    relation=slice_like_relation,
    kind=FusionKind.INJECTIVE,
    attributes=SliceLikeAttributes,
    compute=_slice_like,
    reference=_slice_like_reference,
    documentation="The data cut at the end to the sizes of shape_like along some axes.",
)
strided_set = define(
    name="strided_set",
    arguments=("data", "v"),
    relation=strided_set_relation,
    kind=FusionKind.INJECTIVE,
    attributes=StridedSetAttributes,
    compute=_strided_set,
    reference=_strided_set_reference,
    documentation="The data with data[begin:end:stride] replaced by v.",
)
sliding_window = define(
    name="sliding_window",
    arguments=("data",),
    relation=sliding_window_relation,
    kind=FusionKind.INJECTIVE,
    attributes=SlidingWindowAttributes,
    compute=_sliding_window,
    reference=_sliding_window_reference,
    documentation="All windows of the data: axes before, windows of each axis, their elements.",
)
