"""Type relations of sorting, searching and scans."""

from __future__ import annotations

from typing import Any

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.dim_arithmetic import product
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.typing.relations.elementwise import identity_along_axis
from relay_tune.typing.relations.support import (
    normalize_axis,
    of_tensor,
    of_tensors,
    require_rank,
    require_same_dtype,
)
from relay_tune.typing.type_text import type_text

sort = identity_along_axis


@of_tensor
def argsort(attributes: Any, data: TensorType) -> Type:
    """Positions, of the shape of the argument and attribute dtype; attribute axis."""
    normalize_axis(attributes.axis, len(data.shape), data)
    return TensorType(data.shape, attributes.dtype)


@of_tensor
def topk(attributes: Any, data: TensorType) -> Type:
    """Attributes k (less than 1: all), axis, ret_type "both", "values" or "indices", dtype."""
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    size = data.shape[axis]
    if isinstance(size, int) and attributes.k > size:
        raise RelationError(
            f"k is {attributes.k}, but dimension {axis} of {type_text(data)} is {size}"
        )
    kept: Dim = attributes.k if attributes.k >= 1 else size
    shape = (*data.shape[:axis], kept, *data.shape[axis + 1 :])
    return _topk_result(TensorType(shape, data.dtype), attributes)


@of_tensor
def topk_dynamic(attributes: Any, data: TensorType) -> Type:
    """(data, k): like `topk`, of size `?` along the axis."""
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    shape = (*data.shape[:axis], UNKNOWN, *data.shape[axis + 1 :])
    return _topk_result(TensorType(shape, data.dtype), attributes)


@of_tensor
def unique(attributes: Any, data: TensorType) -> Type:
    """(vector): unique values, their positions, inverse positions, their number, counts if asked.

    The number is int32 of shape (1,); the sizes of values, positions and counts are `?`.
    """
    require_rank(data, 1, "unique")
    found = TensorType((UNKNOWN,), "int32")
    inverse, number = TensorType(data.shape, "int32"), TensorType((1,), "int32")
    values = TensorType((UNKNOWN,), data.dtype)
    counts = (found,) if attributes.return_counts else ()
    return TupleType((values, found, inverse, number, *counts))


@of_tensors
def searchsorted(attributes: Any, sequence: TensorType, values: TensorType) -> Type:
    """(sorted sequence, values): positions, of the shape of the values and attribute dtype."""
    require_same_dtype("searchsorted", sequence, values)
    return TensorType(values.shape, attributes.dtype)


@of_tensor
def cumulative(attributes: Any, data: TensorType) -> Type:
    """Attributes axis (None: of the flattened tensor) and dtype (None or "": of the argument)."""
    dtype = getattr(attributes, "dtype", None) or data.dtype
    if attributes.axis is None:
        return TensorType((product(data.shape),), dtype)
    normalize_axis(attributes.axis, len(data.shape), data)
    return TensorType(data.shape, dtype)


def _topk_result(values: TensorType, attributes: Any) -> Type:
    indices = TensorType(values.shape, attributes.dtype)
    match attributes.ret_type:
        case "both":
            return TupleType((values, indices))
        case "values":
            return values
        case "indices":
            return indices
        case other:
            raise RelationError(f'ret_type is "both", "values" or "indices", not "{other}"')
