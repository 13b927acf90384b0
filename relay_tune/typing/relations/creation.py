"""Type relations of operators that make tensors from attributes, or from types alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.elementwise import broadcast_shapes
from relay_tune.typing.relations.support import known_tensors, of_tensor, of_tensors, require_rank
from relay_tune.typing.type_text import type_text


def filled(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """A tensor of attributes shape and dtype, without arguments (zeros, ones)."""
    return TensorType(tuple(attributes.shape), attributes.dtype)


@of_tensor
def full(attributes: Any, value: TensorType) -> Type:
    """(scalar): a tensor of attributes shape and dtype ("" : that of the scalar)."""
    require_rank(value, 0, "fill value")
    return TensorType(tuple(attributes.shape), attributes.dtype or value.dtype)


@of_tensor
def full_like(attributes: Any, data: TensorType) -> Type:
    """(data, scalar): the type of the data."""
    return data


@of_tensors
def filled_dynamic(attributes: Any, *tensors: TensorType) -> Type:
    """(..., shape of rank 1): a tensor of `?` sizes; attribute dtype ("": of the first input)."""
    return TensorType(unknown_shape(tensors[-1]), attributes.dtype or tensors[0].dtype)


@of_tensors
def shaped_by_value(attributes: Any, data: TensorType, shape: TensorType, *_: TensorType) -> Type:
    """(data, shape of rank 1, ...): the element type of the data, with `?` sizes."""
    return TensorType(unknown_shape(shape), data.dtype)


def arange(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """A vector of attribute dtype; its size is `?` unless start, stop and step are attributes."""
    start, stop, step = (getattr(attributes, name, None) for name in ("start", "stop", "step"))
    if inputs or start is None or stop is None or step is None:
        return TensorType((UNKNOWN,), attributes.dtype)
    if step == 0:
        raise RelationError("the step of arange is 0")
    return TensorType((max(0, math.ceil((stop - start) / step)),), attributes.dtype)


@of_tensor
def shape_of(attributes: Any, data: TensorType) -> Type:
    """A vector with one element for each axis; attribute dtype."""
    return TensorType((len(data.shape),), attributes.dtype)


@of_tensor
def size_of(attributes: Any, data: TensorType) -> Type:
    """The number of elements, a scalar of attribute dtype."""
    return TensorType((), attributes.dtype)


def random(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(counter, key), integers that broadcast: their shape, of the float type `dtype`."""
    tensors = known_tensors(inputs)
    if "float" not in attributes.dtype:
        raise RelationError(
            f"random numbers are of a float type, but dtype is {attributes.dtype}",
            remedy="Draw float32 numbers and cast them.",
        )
    if tensors is None:
        return None
    for tensor in tensors:
        if "int" not in tensor.dtype:
            raise RelationError(
                f"counter and key are integers, but one is {type_text(tensor)}",
                remedy="Cast it to int64.",
            )
    return TensorType(broadcast_shapes(*tensors), attributes.dtype)


def unknown_shape(shape: TensorType) -> tuple[Dim, ...]:
    """As many `?` as a shape tensor has elements; RelationError if that is not known."""
    require_rank(shape, 1, "shape")
    if not isinstance(shape.shape[0], int):
        raise RelationError(f"the number of dimensions is not known: {type_text(shape)}")
    return (UNKNOWN,) * shape.shape[0]
