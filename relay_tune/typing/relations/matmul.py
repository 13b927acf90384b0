"""Type relations of matrix products: dense, matmul, batch_matmul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dim import Dim
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.elementwise import broadcast_shapes
from relay_tune.typing.relations.support import (
    conflict,
    known_tensor,
    of_tensors,
    require_rank,
    require_same_dim,
    same_dim,
)
from relay_tune.typing.type_text import type_text


def dense(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(data [..., k], weight [units, k]) -> [..., units]; attributes units, out_dtype."""
    return _product_with_matrix(inputs, attributes, context, False, True)


def matmul(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(a [..., m, k], b [k, n]) -> [..., m, n]; attributes units, transpose_a/b, out_dtype."""
    swap_a, swap_b = attributes.transpose_a, attributes.transpose_b
    return _product_with_matrix(inputs, attributes, context, swap_a, swap_b)


@of_tensors
def batch_matmul(attributes: Any, left: TensorType, right: TensorType) -> Type:
    """(a [..., m, k], b [..., k, n]) -> [..., m, n]; leading axes broadcast.

    Attributes transpose_a, transpose_b (which swap the last two axes) and out_dtype.
    """
    row, left_depth = _matrix_axes(left, attributes.transpose_a)
    right_depth, column = _matrix_axes(right, attributes.transpose_b)
    require_same_dim("matrix product", left, right, (left_depth, right_depth))
    batch = broadcast_shapes(
        TensorType(left.shape[:-2], left.dtype), TensorType(right.shape[:-2], right.dtype)
    )
    dtype = result_dtype("matrix product", left, right, attributes)
    return TensorType((*batch, left.shape[row], right.shape[column]), dtype)


def result_dtype(rule: str, data: TensorType, weight: TensorType, attributes: Any) -> str:
    """Attribute out_dtype, or else the common element type of data and weight."""
    if getattr(attributes, "out_dtype", ""):
        return str(attributes.out_dtype)
    if data.dtype != weight.dtype:
        raise conflict(
            rule,
            data,
            weight,
            f"dtype {data.dtype} does not match {weight.dtype} and no out_dtype is given",
        )
    return data.dtype


def _product_with_matrix(
    inputs: Sequence[Type],
    attributes: Any,
    context: RelationContext,
    transpose_a: bool,
    transpose_b: bool,
) -> Type | None:
    data = known_tensor(inputs[0])
    if data is None:
        return None
    row, depth = _data_axes(data, transpose_a)
    units: Dim | None = getattr(attributes, "units", None)
    weight = known_tensor(inputs[1])
    if weight is None:
        if units is None:
            return None
        shape = (units, data.shape[depth]) if transpose_b else (data.shape[depth], units)
        weight = TensorType(shape, data.dtype)
        context.unify(inputs[1], weight)
    require_rank(weight, 2, "weight")
    weight_depth, column = (1, 0) if transpose_b else (0, 1)
    require_same_dim("matrix product", data, weight, (depth, weight_depth))
    found = weight.shape[column]
    if units is not None and same_dim(units, found) is None:
        raise RelationError(
            f"units is {units}, but dimension {column} of the weight {type_text(weight)} is "
            f"{found}",
            sizes=(units, found),
        )
    rows = data.shape[:-1] if row is None else (*data.shape[:-2], data.shape[row])
    dtype = result_dtype("matrix product", data, weight, attributes)
    return TensorType((*rows, found), dtype)


def _data_axes(data: TensorType, transpose: bool) -> tuple[int | None, int]:
    """The (row, depth) axes of the left factor; a vector has no row."""
    if len(data.shape) == 1 and not transpose:
        return None, 0
    return _matrix_axes(data, transpose)


def _matrix_axes(tensor: TensorType, transpose: bool) -> tuple[int, int]:
    """The last two axes, swapped if asked."""
    rank = len(tensor.shape)
    if rank < 2:
        raise RelationError(f"expects at least 2 dimensions, but found {type_text(tensor)}")
    return (rank - 1, rank - 2) if transpose else (rank - 2, rank - 1)
