"""Type relations of operators that read or write parts of a tensor by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add, positive_part, subtract
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.elementwise import broadcast_shapes
from relay_tune.typing.relations.slice_sizes import sliced_size
from relay_tune.typing.relations.support import (
    conflict,
    known_tensor,
    normalize_axis,
    of_tensor,
    of_tensors,
    require_rank,
    require_same_dim,
    require_same_dtype,
    require_same_shape,
    require_shape,
    require_within,
    tensors_of_tuple,
)
from relay_tune.typing.type_text import type_text

ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
"""The sides of matrix_set_diag's rows to which diagonals above and below the main one go."""


@of_tensor
def strided_slice(attributes: Any, data: TensorType) -> Type:
    """Attributes begin, end, strides, axes, slice_mode: as `data[begin:end:stride]` in Python.

    With slice_mode "size", `end` holds sizes, -1 for all that is left, and strides are 1.
    """
    axes = _slice_axes(data, attributes)
    by_size = getattr(attributes, "slice_mode", "end") == "size"
    strides = () if by_size else tuple(attributes.strides or ())
    shape = list(data.shape)
    for index, axis in enumerate(axes):
        begin, end = attributes.begin[index], attributes.end[index]
        if by_size:
            end = None if end == -1 else begin + end
        stride = (strides[index] if index < len(strides) else strides[-1]) if strides else 1
        if stride == 0:
            raise RelationError(f"the stride of axis {axis} is 0")
        shape[axis] = sliced_size(shape[axis], begin, end, stride)
    return TensorType(tuple(shape), data.dtype)


def strided_set(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(data, values), attributes begin, end, strides: the data; the values are as the slice."""
    part = strided_slice(inputs, attributes, context)
    data = known_tensor(inputs[0])
    if data is None or not isinstance(part, TensorType):
        return None
    require_shape("strided_set", inputs[1], part, context)
    values = known_tensor(inputs[1])
    if values is not None:
        require_same_dtype("strided_set", data, values)
    return data


@of_tensors
def slice_like(attributes: Any, data: TensorType, like: TensorType) -> Type:
    """The first argument cut to the sizes of the second, along `axes` (None: along all)."""
    given = attributes.axes or range(len(data.shape))
    shape = list(data.shape)
    for axis in (normalize_axis(axis, len(data.shape), data) for axis in given):
        if axis >= len(like.shape):
            raise conflict("slice_like", data, like, f"the second has no dimension {axis}")
        require_within("slice_like", like, data, [axis])
        shape[axis] = like.shape[axis]
    return TensorType(tuple(shape), data.dtype)


@of_tensors
def take(attributes: Any, data: TensorType, indices: TensorType) -> Type:
    """(data, indices), attributes axis (None: of the flattened data), batch_dims, mode."""
    require_integer("take", indices)
    if attributes.axis is None:
        _require_elements(attributes, data, data.shape, indices)
        return TensorType(indices.shape, data.dtype)
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    _require_elements(attributes, data, data.shape[axis : axis + 1], indices)
    batch = getattr(attributes, "batch_dims", 0)
    batch = batch if batch >= 0 else batch + len(indices.shape)
    for index in range(min(batch, axis)):
        require_same_dim("take", data, indices, (index, index))
    shape = (*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :])
    return TensorType(shape, data.dtype)


def _require_elements(
    attributes: Any, data: TensorType, axes: Sequence[Dim], indices: TensorType
) -> None:
    """Refuse indices that are clipped or wrapped into axes without elements.

    Those of other modes are compared when they come.
    """
    is_any = all(isinstance(dim, int) and dim > 0 for dim in indices.shape)
    if 0 in axes and is_any and attributes.mode in ("clip", "wrap"):
        raise conflict("take", data, indices, "the axis that is indexed has no elements")


@of_tensors
def gather(attributes: Any, data: TensorType, indices: TensorType) -> Type:
    """(data, indices of the same rank), attribute axis: the shape of the indices.

    Along the other axes, the indices may be shorter than the data.
    """
    require_integer("gather", indices)
    if len(data.shape) != len(indices.shape):
        raise conflict("gather", data, indices, "they differ in their number of dimensions")
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    require_within("gather", indices, data, _others(data, axis))
    return TensorType(indices.shape, data.dtype)


def _others(data: TensorType, axis: int) -> list[int]:
    return [index for index in range(len(data.shape)) if index != axis]


@of_tensors
def gather_nd(attributes: Any, data: TensorType, indices: TensorType) -> Type:
    """(data, indices of shape (m, *positions)): positions + data.shape[batch_dims + m:].

    The first axis of the indices holds the m coordinates; attribute index_rank says m where the
    type does not.
    """
    require_integer("gather_nd", indices)
    if not indices.shape:
        raise RelationError(f"indices need at least 1 dimension, but are {type_text(indices)}")
    size = indices.shape[0]
    count = size if isinstance(size, int) else getattr(attributes, "index_rank", None)
    if count is None:
        raise RelationError(f"the first dimension of {type_text(indices)} must be known")
    first = count + getattr(attributes, "batch_dims", 0)
    if first > len(data.shape):
        detail = f"{first} coordinates for {len(data.shape)} dimensions"
        raise conflict("gather_nd", data, indices, detail)
    for index in range(first - count):
        require_same_dim("gather_nd", data, indices, (index, index + 1))
    return TensorType((*indices.shape[1:], *data.shape[first:]), data.dtype)


@of_tensors
def scatter_elements(
    attributes: Any, data: TensorType, indices: TensorType, updates: TensorType
) -> Type:
    """(data, indices, updates), attribute axis: as the data.

    The indices may be shorter than the updates, and along the other axes than the data.
    """
    require_integer("scatter_elements", indices)
    require_same_dtype("scatter_elements", data, updates)
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    if not len(data.shape) == len(indices.shape) == len(updates.shape):
        raise conflict("scatter_elements", indices, updates, "they differ in rank")
    require_within("scatter_elements", indices, data, _others(data, axis))
    require_within("scatter_elements", indices, updates, range(len(indices.shape)))
    return data


@of_tensors
def scatter_nd(attributes: Any, data: TensorType, indices: TensorType, updates: TensorType) -> Type:
    """(data, indices of shape (m, *positions), updates of shape positions + data.shape[m:])."""
    require_integer("scatter_nd", indices)
    require_same_dtype("scatter_nd", data, updates)
    if not indices.shape:
        raise RelationError(f"indices need at least 1 dimension, but are {type_text(indices)}")
    count = indices.shape[0]
    if isinstance(count, int) and count > len(data.shape):
        detail = f"{count} coordinates for {len(data.shape)} dimensions"
        raise conflict("scatter_nd", data, indices, detail)
    if isinstance(count, int):
        shape = (*indices.shape[1:], *data.shape[count:])
        require_same_shape("scatter_nd", updates, TensorType(shape, data.dtype))
    return data


@of_tensor
def one_hot(attributes: Any, indices: TensorType) -> Type:
    """(indices, on_value, off_value), attributes depth, axis (-1: last), dtype."""
    require_integer("one_hot", indices)
    rank = len(indices.shape)
    if not -1 <= attributes.axis <= rank:
        raise RelationError(f"axis {attributes.axis} is out of range for {type_text(indices)}")
    position = rank if attributes.axis == -1 else attributes.axis
    shape = (*indices.shape[:position], attributes.depth, *indices.shape[position:])
    return TensorType(shape, attributes.dtype)


def advanced_index(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """(tuple of data and index tensors): the broadcast index shape, then the axes left over."""
    fields = tensors_of_tuple(inputs[0])
    if fields is None:
        return None
    if len(fields) < 2 or len(fields) - 1 > len(fields[0].shape):
        raise RelationError(f"{len(fields) - 1} indices do not fit {type_text(fields[0])}")
    index = TensorType((), "int64")
    for field in fields[1:]:
        index = TensorType(broadcast_shapes(index, field), "int64")
    return TensorType((*index.shape, *fields[0].shape[len(fields) - 1 :]), fields[0].dtype)


@of_tensors
def sequence_mask(attributes: Any, data: TensorType, lengths: TensorType) -> Type:
    """(data, valid lengths of rank 1): the type of the data."""
    require_rank(lengths, 1, "valid lengths")
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    if len(data.shape) < 2 or axis > 1:
        raise RelationError(f"sequence_mask: axis {axis} of {type_text(data)} is not 0 or 1 of two")
    require_same_dim("sequence_mask", data, lengths, (1 - axis, 0))
    return data


@of_tensors
def unravel_index(attributes: Any, indices: TensorType, shape: TensorType) -> Type:
    """(flat indices, shape of rank 1): (rank, *indices.shape), or (rank,) of a scalar."""
    require_integer("unravel_index", indices)
    require_rank(shape, 1, "unravel_index")
    return TensorType((shape.shape[0], *indices.shape), indices.dtype)


@of_tensor
def index_extent(attributes: Any, indices: TensorType) -> Type:
    """(indices), attribute axis: uint64 of the size of that axis, or a scalar."""
    require_integer("index_extent", indices)
    if attributes.axis is None:
        return TensorType((), "uint64")
    axis = normalize_axis(attributes.axis, len(indices.shape), indices)
    return TensorType((indices.shape[axis],), "uint64")


def check_indices(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(indices, their extent, tuple of at most one tensor): the type of the indices."""
    indices = known_tensor(inputs[0])
    if indices is None:
        return None
    require_integer("check_indices", indices)
    if -1 in attributes.sizes and not tensors_of_tuple(inputs[2]):
        raise RelationError("check_indices: a size is left open, and there is no tensor to tell it")
    return indices


@of_tensor
def argwhere(attributes: Any, data: TensorType) -> Type:
    """Positions of the nonzero elements, one a row: (?, rank) of int32, or attribute dtype."""
    dtype = getattr(attributes, "dtype", "") or "int32"
    return TensorType((UNKNOWN, len(data.shape)), dtype)


@of_tensors
def matrix_set_diagonal(attributes: Any, data: TensorType, diagonals: TensorType) -> Type:
    """(matrices, diagonals): the type of the matrices.

    Attribute k: one diagonal, of a dimension less than the matrices, or the ends of a band, whose
    diagonals are the rows of a matrix as wide as the longest of them.
    """
    require_same_dtype("matrix_set_diag", data, diagonals)
    lowest, highest = diagonal_range(attributes)
    align = getattr(attributes, "align", ALIGNMENTS[0])
    if align not in ALIGNMENTS:
        raise RelationError(f"align must be one of {', '.join(ALIGNMENTS)}, but is {align!r}")
    rank = len(data.shape) - (lowest == highest)
    if len(data.shape) < 2 or len(diagonals.shape) != rank:
        detail = f"diagonals of {len(data.shape)} dimensions have {rank}"
        raise conflict("matrix_set_diag", data, diagonals, detail)
    lines = () if lowest == highest else (highest - lowest + 1,)
    length = longest_diagonal(data.shape[-2:], lowest, highest)
    expected = TensorType((*data.shape[:-2], *lines, length), data.dtype)
    require_same_shape("matrix_set_diag", diagonals, expected)
    return data


def diagonal_range(attributes: Any) -> tuple[int, int]:
    """The lowest and the highest diagonal of attribute k; RelationError where it means none."""
    k = getattr(attributes, "k", 0)
    ends = (k,) if isinstance(k, int) else tuple(k)
    if not 1 <= len(ends) <= 2 or ends[0] > ends[-1]:
        raise RelationError(f"k must be a diagonal, or the lowest and the highest one, but is {k}")
    return ends[0], ends[-1]


def longest_diagonal(shape: Sequence[Dim], lowest: int, highest: int) -> Dim:
    """The number of elements of the longest of some diagonals of matrices."""
    below, above = add(shape[0], min(highest, 0)), subtract(shape[1], max(lowest, 0))
    if isinstance(below, UnknownDim) or isinstance(above, UnknownDim):
        return UNKNOWN
    return positive_part(subtract(below, positive_part(subtract(below, above))))


def require_integer(rule: str, indices: TensorType) -> None:
    """RelationError unless the elements are integers."""
    if not indices.dtype.startswith(("int", "uint")):
        raise RelationError(f"{rule}: indices must be integers, but are {type_text(indices)}")


def _slice_axes(data: TensorType, attributes: Any) -> list[int]:
    rank = len(data.shape)
    given = attributes.axes if getattr(attributes, "axes", None) else range(len(attributes.begin))
    axes = [normalize_axis(axis, rank, data) for axis in given]
    if not len(axes) == len(attributes.begin) == len(attributes.end):
        raise RelationError(
            f"begin, end and axes have {len(attributes.begin)}, {len(attributes.end)} and "
            f"{len(axes)} values, but must have one for each axis"
        )
    return axes
