"""Type relations of element-by-element operators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.operator import RelationContext
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.support import (
    conflict,
    known_tensor,
    known_tensors,
    normalize_axis,
    require_same_dtype,
)


def identity(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """The tensor type of the first argument; further arguments are tensors of any type."""
    return known_tensor(inputs[0])


def identity_along_axis(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """The tensor type of the first argument, which has an `axis` (int)."""
    data = known_tensor(inputs[0])
    if data is not None:
        normalize_axis(attributes.axis, len(data.shape), data)
    return data


GIVES_FIRST = frozenset({identity, identity_along_axis})
"""Relations whose result has the type of the first argument, so that either tells the other."""


def predicate(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """bool of the shape of the argument."""
    data = known_tensor(inputs[0])
    return None if data is None else TensorType(data.shape, "bool")


def cast(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """The shape of the argument, of element type `dtype`."""
    data = known_tensor(inputs[0])
    return None if data is None else TensorType(data.shape, attributes.dtype)


def reinterpret(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """The shape of the argument, of element type `dtype`, which is as wide as the argument's."""
    data = known_tensor(inputs[0])
    if data is None:
        return None
    result = TensorType(data.shape, attributes.dtype)
    if DTYPES[data.dtype].itemsize != DTYPES[attributes.dtype].itemsize:
        detail = "elements of the two types have different numbers of bytes"
        raise conflict("reinterpret", data, result, detail, "Use cast to convert the elements.")
    return result


def cast_like(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """The shape of the first argument, of the element type of the second."""
    tensors = known_tensors(inputs)
    return None if tensors is None else TensorType(tensors[0].shape, tensors[1].dtype)


def broadcast(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """Two tensors of one element type, broadcast from the right."""
    tensors = known_tensors(inputs)
    if tensors is None:
        return None
    left, right = tensors
    require_same_dtype("broadcast", left, right)
    return TensorType(broadcast_shapes(left, right), left.dtype)


def broadcast_comparison(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """bool of the broadcast shape of two tensors of one element type."""
    result = broadcast(inputs, attributes, context)
    return TensorType(result.shape, "bool") if isinstance(result, TensorType) else None


def broadcast_logical(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """bool tensors, broadcast; other element types are a conflict."""
    tensors = known_tensors(inputs)
    if tensors is None:
        return None
    for tensor in tensors:
        require_same_dtype("logical operator", tensor, TensorType(tensor.shape, "bool"))
    return TensorType(broadcast_shapes(*tensors), "bool")


def select(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(condition of any element type, a, b): the broadcast shape of all three."""
    tensors = known_tensors(inputs)
    if tensors is None:
        return None
    condition, first, second = tensors
    require_same_dtype("where", first, second)
    values = TensorType(broadcast_shapes(first, second), first.dtype)
    return TensorType(broadcast_shapes(condition, values), first.dtype)


def broadcast_shapes(left: TensorType, right: TensorType) -> tuple[Dim, ...]:
    """The shape that both broadcast to; RelationError names the dimension that conflicts."""
    if left.shape == right.shape:
        return left.shape
    dims: list[Dim] = []
    pairs = zip_longest(reversed(left.shape), reversed(right.shape), fillvalue=1)
    for place, (first, second) in enumerate(pairs, start=1):
        dim = broadcast_dims(first, second)
        if dim is None:
            detail = f"dimension -{place} is {first} and {second}"
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
