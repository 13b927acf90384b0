"""Type relations of operators that rearrange whole axes: reshape, transpose, join, repeat, pad.

Neighbours: `indexing` (slices, gathers), `creation` (full, arange, shape_of), `sorting` (sort,
topk, unique), `layout` (blocked layouts, space to depth).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, product
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.typing.relations.elementwise import broadcast_shapes
from relay_tune.typing.relations.reshape_codes import check_same_count, reshaped
from relay_tune.typing.relations.support import (
    known_tensors,
    normalize_axis,
    of_tensor,
    of_tensors,
    require_rank,
    require_same_dim,
    require_same_dtype,
)
from relay_tune.typing.type_text import type_text
from relay_tune.typing.windows import repeated_rooms


@of_tensor
def reshape(attributes: Any, data: TensorType) -> Type:
    """Attributes: newshape (sizes and the codes of `reshape_codes`), allowzero (0 is a size)."""
    allow_zero = getattr(attributes, "allowzero", False)
    return TensorType(reshaped(data, tuple(attributes.newshape), allow_zero), data.dtype)


@of_tensors
def reshape_like(attributes: Any, data: TensorType, like: TensorType) -> Type:
    """Axes [lhs_begin, lhs_end) of the first take the sizes [rhs_begin, rhs_end) of the second."""
    left = slice(attributes.lhs_begin, attributes.lhs_end).indices(len(data.shape))
    middle = like.shape[slice(attributes.rhs_begin, attributes.rhs_end)]
    check_same_count(data, data.shape[left[0] : left[1]], middle)
    return TensorType((*data.shape[: left[0]], *middle, *data.shape[left[1] :]), data.dtype)


@of_tensor
def batch_flatten(attributes: Any, data: TensorType) -> Type:
    """(batch, product of the other sizes)."""
    if not data.shape:
        raise RelationError(f"expects at least 1 dimension, but found {type_text(data)}")
    return TensorType((data.shape[0], product(data.shape[1:])), data.dtype)


@of_tensor
def transpose(attributes: Any, data: TensorType) -> Type:
    """Attribute axes: a permutation; None reverses the order."""
    rank = len(data.shape)
    given = tuple(reversed(range(rank))) if attributes.axes is None else tuple(attributes.axes)
    axes = tuple(normalize_axis(axis, rank, data) for axis in given)
    if sorted(axes) != list(range(rank)):
        raise RelationError(f"axes {given} are no permutation of the axes of {type_text(data)}")
    return TensorType(tuple(data.shape[axis] for axis in axes), data.dtype)


@of_tensor
def squeeze(attributes: Any, data: TensorType) -> Type:
    """Attribute axis: the axes of size 1 to remove; None removes all that are known to be 1."""
    rank = len(data.shape)
    if attributes.axis is None:
        return TensorType(tuple(dim for dim in data.shape if dim != 1), data.dtype)
    given = (attributes.axis,) if isinstance(attributes.axis, int) else attributes.axis
    axes = {normalize_axis(axis, rank, data) for axis in given}
    for axis in axes:
        if isinstance(data.shape[axis], int) and data.shape[axis] != 1:
            raise RelationError(f"dimension {axis} of {type_text(data)} is not 1")
    kept = tuple(dim for axis, dim in enumerate(data.shape) if axis not in axes)
    return TensorType(kept, data.dtype)


@of_tensor
def expand_dims(attributes: Any, data: TensorType) -> Type:
    """Attributes: axis (the position of the first new axis in the result), num_newaxis."""
    rank = len(data.shape)
    if not -rank - 1 <= attributes.axis <= rank:
        raise RelationError(f"axis {attributes.axis} is out of range for {type_text(data)}")
    position = attributes.axis if attributes.axis >= 0 else rank + 1 + attributes.axis
    ones = (1,) * getattr(attributes, "num_newaxis", 1)
    return TensorType((*data.shape[:position], *ones, *data.shape[position:]), data.dtype)


@of_tensor
def tile(attributes: Any, data: TensorType) -> Type:
    """Attribute reps: copies an axis; the shorter of shape and reps is filled with 1 in front."""
    reps = (attributes.reps,) if isinstance(attributes.reps, int) else tuple(attributes.reps)
    rank = max(len(reps), len(data.shape))
    shape = (1,) * (rank - len(data.shape)) + data.shape
    copies = (1,) * (rank - len(reps)) + reps
    dims = tuple(multiply(dim, count) for dim, count in zip(shape, copies, strict=True))
    return TensorType(dims, data.dtype)


@of_tensor
def repeat(attributes: Any, data: TensorType) -> Type:
    """Attributes: repeats (copies of each element), axis (None: of the flattened tensor)."""
    if attributes.axis is None:
        return TensorType((multiply(product(data.shape), attributes.repeats),), data.dtype)
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    return _with_dim(data, axis, multiply(data.shape[axis], attributes.repeats))


@of_tensor
def broadcast_to(attributes: Any, data: TensorType) -> Type:
    """Attribute shape: the sizes that the argument is stretched to."""
    return _broadcast_onto(data, TensorType(tuple(attributes.shape), data.dtype))


@of_tensors
def broadcast_to_like(attributes: Any, data: TensorType, like: TensorType) -> Type:
    """The first argument stretched to the shape of the second."""
    return _broadcast_onto(data, TensorType(like.shape, data.dtype))


@of_tensor
def collapse_sum_to(attributes: Any, data: TensorType) -> Type:
    """Attribute shape: the sizes to sum down to; it must broadcast to the argument's shape."""
    target = TensorType(tuple(attributes.shape), data.dtype)
    _broadcast_onto(target, data)
    return target


@of_tensors
def collapse_sum_like(attributes: Any, data: TensorType, like: TensorType) -> Type:
    """The first argument summed down to the shape of the second."""
    target = TensorType(like.shape, data.dtype)
    _broadcast_onto(target, data)
    return target


@of_tensor
def reverse(attributes: Any, data: TensorType) -> Type:
    """The type of the argument; attribute axis is one axis or several."""
    axes = (attributes.axis,) if isinstance(attributes.axis, int) else attributes.axis
    for axis in axes:
        normalize_axis(axis, len(data.shape), data)
    return data


@of_tensors
def reverse_sequence(attributes: Any, data: TensorType, lengths: TensorType) -> Type:
    """(data, lengths of shape (batch,)): the type of the data; attributes seq_axis, batch_axis."""
    normalize_axis(attributes.seq_axis, len(data.shape), data)
    batch_axis = normalize_axis(attributes.batch_axis, len(data.shape), data)
    require_rank(lengths, 1, "sequence lengths")
    require_same_dim("reverse_sequence", data, lengths, (batch_axis, 0))
    return data


@of_tensor
def pad(attributes: Any, data: TensorType) -> Type:
    """Attribute pad_width: ((before, after), ...) for each axis; negative numbers crop."""
    widths = tuple(attributes.pad_width)
    if len(widths) != len(data.shape):
        raise RelationError(
            f"pad_width has {len(widths)} pairs, but {type_text(data)} has "
            f"{len(data.shape)} dimensions"
        )
    pairs = zip(data.shape, widths, strict=True)
    dims = tuple(add(dim, before + after) for dim, (before, after) in pairs)
    if repeats_elements(attributes):
        for axis, room in repeated_rooms(data.shape, widths):
            if isinstance(room, int) and room < 0:
                detail = f"axis {axis} of {type_text(data)} has no elements left to repeat"
                raise RelationError(detail, remedy='Use pad_mode="constant", or crop less.')
    return TensorType(dims, data.dtype)


def repeats_elements(attributes: Any) -> bool:
    """Whether padding is made of elements of the data."""
    return bool(getattr(attributes, "pad_mode", "") != "constant")


@of_tensor
def dilate(attributes: Any, data: TensorType) -> Type:
    """Attribute strides: for each axis, the distance between elements in the result."""
    require_rank(data, len(attributes.strides), "dilate")
    pairs = zip(data.shape, attributes.strides, strict=True)
    dims = tuple(add(multiply(add(dim, -1), stride), 1) for dim, stride in pairs)
    return TensorType(dims, data.dtype)


@of_tensor
def trilu(attributes: Any, data: TensorType) -> Type:
    """(data of rank 2 or more, scalar diagonal): the type of the data."""
    if len(data.shape) < 2:
        raise RelationError(f"expects at least 2 dimensions, but found {type_text(data)}")
    return data


@of_tensor
def sliding_window(attributes: Any, data: TensorType) -> Type:
    """Attributes axis, window_shape, strides: (leading axes, windows an axis, window sizes)."""
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    window = tuple(attributes.window_shape)
    require_rank(data, axis + len(window), "sliding_window")
    counts = tuple(
        add(floor_divide(add(dim, -size), stride), 1)
        for dim, size, stride in zip(data.shape[axis:], window, attributes.strides, strict=True)
    )
    return TensorType((*data.shape[:axis], *counts, *window), data.dtype)


def meshgrid(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(tuple of vectors or scalars): a tuple of grids; attribute indexing "ij" or "xy"."""
    fields = known_tensors(getattr(inputs[0], "fields", inputs))
    if fields is None:
        return None
    dims = [field.shape[0] if field.shape else 1 for field in fields]
    for field in fields:
        require_same_dtype("meshgrid", fields[0], field)
    if attributes.indexing == "xy" and len(dims) >= 2:
        dims[0], dims[1] = dims[1], dims[0]
    return TupleType((TensorType(tuple(dims), fields[0].dtype),) * len(fields))


def _with_dim(tensor: TensorType, axis: int, dim: Dim) -> TensorType:
    return TensorType((*tensor.shape[:axis], dim, *tensor.shape[axis + 1 :]), tensor.dtype)


def _broadcast_onto(data: TensorType, target: TensorType) -> TensorType:
    if len(data.shape) > len(target.shape):
        raise RelationError(f"{type_text(data)} has more dimensions than {type_text(target)}")
    result = broadcast_shapes(data, target)
    for index, (dim, wanted) in enumerate(zip(result, target.shape, strict=True)):
        if wanted == 1 and dim != 1 and not isinstance(dim, UnknownDim):
            raise RelationError(
                f"{type_text(data)} does not broadcast to {type_text(target)}: "
                f"dimension {index} is {dim}, not 1"
            )
    sizes = (1 if wanted == 1 else dim for dim, wanted in zip(result, target.shape, strict=True))
    return TensorType(tuple(sizes), target.dtype)
