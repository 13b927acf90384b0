"""Type relations of reductions along axes."""

from __future__ import annotations

from typing import Any

from relay_tune.ir.dim import Dim
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.elementwise import broadcast_shapes
from relay_tune.typing.relations.support import (
    conflict,
    normalize_axis,
    of_tensor,
    of_tensors,
    same_dim,
)


def reduced_axes(
    axis: int | tuple[int, ...] | None, exclude: bool, tensor: TensorType
) -> tuple[int, ...]:
    """The axes that a reduction removes, ascending and counted from the front.

    None means all axes, the empty tuple none; `exclude` means all but those given.
    """
    rank = len(tensor.shape)
    if axis is None:
        return tuple(range(rank))
    given = (axis,) if isinstance(axis, int) else axis
    chosen = {normalize_axis(one, rank, tensor) for one in given}
    return tuple(index for index in range(rank) if (index in chosen) != exclude)


def reduced_shape(tensor: TensorType, attributes: Any) -> tuple[Dim, ...]:
    """The shape after a reduction with attributes axis, keepdims and exclude."""
    axes = set(reduced_axes(attributes.axis, getattr(attributes, "exclude", False), tensor))
    if attributes.keepdims:
        return tuple(1 if index in axes else dim for index, dim in enumerate(tensor.shape))
    return tuple(dim for index, dim in enumerate(tensor.shape) if index not in axes)


@of_tensor
def reduce(attributes: Any, data: TensorType) -> Type:
    """The element type of the argument without the reduced axes (size 1 with `keepdims`).

    Attributes: axis (int, tuple or None), keepdims, exclude. Further arguments (such as the mean
    given to `variance`) are tensors of any type.
    """
    return TensorType(reduced_shape(data, attributes), data.dtype)


@of_tensor
def arg_reduce(attributes: Any, data: TensorType) -> Type:
    """Like `reduce`, of positions: the attribute `dtype`, int64 if there is none."""
    dtype = getattr(attributes, "dtype", "") or "int64"
    return TensorType(reduced_shape(data, attributes), dtype)


@of_tensors
def variance(attributes: Any, data: TensorType, mean: TensorType) -> Type:
    """Like `reduce`; the second argument, the mean, is broadcast to the data."""
    both = broadcast_shapes(data, mean)
    is_within = len(both) == len(data.shape)
    if not is_within or None in map(same_dim, both, data.shape):
        raise conflict("variance", data, mean, "the mean is not broadcast to the data")
    return TensorType(reduced_shape(data, attributes), data.dtype)
