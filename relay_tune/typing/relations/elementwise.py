"""Type relations of element-by-element operators."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.support import (
    conflict,
    normalize_axis,
    of_tensor,
    of_tensors,
    require_same_dtype,
)


@of_tensor
def identity(attributes: Any, data: TensorType) -> Type:
    """The tensor type of the first argument; further arguments are tensors of any type."""
    return data


@of_tensor
def identity_along_axis(attributes: Any, data: TensorType) -> Type:
    """The tensor type of the first argument, which has an `axis` (int)."""
    normalize_axis(attributes.axis, len(data.shape), data)
    return data


GIVES_FIRST = frozenset({identity, identity_along_axis})
"""Relations whose result has the type of the first argument, so that either tells the other."""


@of_tensor
def predicate(attributes: Any, data: TensorType) -> Type:
    """bool of the shape of the argument."""
    return TensorType(data.shape, "bool")


@of_tensor
def cast(attributes: Any, data: TensorType) -> Type:
    """The shape of the argument, of element type `dtype`."""
    return TensorType(data.shape, attributes.dtype)


@of_tensor
def reinterpret(attributes: Any, data: TensorType) -> Type:
    """The shape of the argument, of element type `dtype`, which is as wide as the argument's."""
    result = TensorType(data.shape, attributes.dtype)
    if DTYPES[data.dtype].itemsize != DTYPES[attributes.dtype].itemsize:
        detail = "elements of the two types have different numbers of bytes"
        raise conflict("reinterpret", data, result, detail, "Use cast to convert the elements.")
    return result


@of_tensors
def cast_like(attributes: Any, data: TensorType, like: TensorType) -> Type:
    """The shape of the first argument, of the element type of the second."""
    return TensorType(data.shape, like.dtype)


@of_tensors
def broadcast(attributes: Any, left: TensorType, right: TensorType) -> Type:
    """Two tensors of one element type, broadcast from the right."""
    require_same_dtype("broadcast", left, right)
    return TensorType(broadcast_shapes(left, right), left.dtype)


@of_tensors
def broadcast_comparison(attributes: Any, left: TensorType, right: TensorType) -> Type:
    """bool of the broadcast shape of two tensors of one element type."""
    require_same_dtype("broadcast", left, right)
    return TensorType(broadcast_shapes(left, right), "bool")


@of_tensors
def broadcast_logical(attributes: Any, *tensors: TensorType) -> Type:
    """bool tensors, broadcast; other element types are a conflict."""
    for tensor in tensors:
        require_same_dtype("logical operator", tensor, TensorType(tensor.shape, "bool"))
    return TensorType(broadcast_shapes(*tensors), "bool")


@of_tensors
def select(attributes: Any, condition: TensorType, first: TensorType, second: TensorType) -> Type:
    """(condition of any element type, a, b): the broadcast shape of all three."""
    require_same_dtype("where", first, second)
    values = TensorType(broadcast_shapes(first, second), first.dtype)
    return TensorType(broadcast_shapes(condition, values), first.dtype)


def broadcast_shapes(left: TensorType, right: TensorType) -> tuple[Dim, ...]:
    """The shape that both broadcast to; RelationError names the dimension that conflicts."""
    if left.shape == right.shape:
        return left.shape
    dims: list[Dim] = []
    pairs = zip_longest(reversed(left.shape), reversed(right.shape), fillvalue=1)
    for index, (first, second) in enumerate(pairs, start=1):
        dim = broadcast_dims(first, second)
        if dim is None:
            detail = f"dimension -{index} is {first} and {second}"
            remedy = "Sizes must be equal or 1, counted from the last axis; reshape one of the two."
            raise conflict("broadcast", left, right, detail, remedy, sizes=(first, second))
        dims.append(dim)
    return tuple(reversed(dims))


def broadcast_dims(first: Dim, second: Dim) -> Dim | None:
    """The common size of two dimensions, where 1 stretches; None on a conflict.

    A `?` beside a size other than 1 is taken to be that size or 1.
    """
    if first == second or second == 1:
        return first
    if first == 1 or isinstance(first, UnknownDim):
        return second
    return first if isinstance(second, UnknownDim) else None
