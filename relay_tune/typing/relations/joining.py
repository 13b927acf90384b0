"""Type relations of operators that join a tuple of tensors or split a tensor into a tuple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, floor_divide, subtract
from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.typing.relations.support import (
    conflict,
    normalize_axis,
    of_tensor,
    require_same_dtype,
    same_dim,
    tensors_of_tuple,
)
from relay_tune.typing.type_text import type_text


def concatenate(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(tuple of tensors), attribute axis: sizes add up along it and are equal elsewhere."""
    fields = _nonempty_fields(inputs[0])
    if fields is None:
        return None
    first = fields[0]
    axis = normalize_axis(attributes.axis, len(first.shape), first)
    shape = list(first.shape)
    for field in fields[1:]:
        _merge_into(shape, first, field, skip=axis)
        shape[axis] = add(shape[axis], field.shape[axis])
    return TensorType(tuple(shape), first.dtype)


def stack(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(tuple of tensors of one type), attribute axis: the position of the new axis."""
    fields = _nonempty_fields(inputs[0])
    if fields is None:
        return None
    first = fields[0]
    rank = len(first.shape)
    if not -rank - 1 <= attributes.axis <= rank:
        raise RelationError(
            f"axis {attributes.axis} is out of range for stacking {type_text(first)}"
        )
    shape = list(first.shape)
    for field in fields[1:]:
        _merge_into(shape, first, field, skip=None)
    shape.insert(attributes.axis % (rank + 1), len(fields))
    return TensorType(tuple(shape), first.dtype)


@of_tensor
def split(attributes: Any, data: TensorType) -> Type:
    """Attributes: indices_or_sections (a number of equal parts, or where to cut), axis."""
    axis = normalize_axis(attributes.axis, len(data.shape), data)
    sections = attributes.indices_or_sections
    sizes = (
        _equal_parts(data, axis, sections)
        if isinstance(sections, int)
        else _cut(data, axis, tuple(sections))
    )
    return TupleType(
        tuple(
            TensorType((*data.shape[:axis], size, *data.shape[axis + 1 :]), data.dtype)
            for size in sizes
        )
    )


def _equal_parts(data: TensorType, axis: int, sections: int) -> list[Dim]:
    dim = data.shape[axis]
    if sections < 1 or (isinstance(dim, int) and dim % sections):
        raise RelationError(
            f"dimension {axis} of {type_text(data)} is {dim}, which does not split into "
            f"{sections} equal parts"
        )
    return [floor_divide(dim, sections)] * sections


def _cut(data: TensorType, axis: int, indices: tuple[int, ...]) -> list[Dim]:
    dim = data.shape[axis]
    bounds: list[Dim] = [0, *indices, dim]
    sizes = [subtract(end, begin) for begin, end in zip(bounds, bounds[1:], strict=False)]
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise RelationError(
            f"indices {indices} do not ascend within dimension {axis} of {type_text(data)}, "
            f"which is {dim}"
        )
    return sizes


def _nonempty_fields(type_: Type) -> tuple[TensorType, ...] | None:
    fields = tensors_of_tuple(type_)
    if fields == ():
        raise RelationError("expects a tuple of at least one tensor, but found the empty tuple")
    return fields


def _merge_into(shape: list[Dim], first: TensorType, field: TensorType, skip: int | None) -> None:
    """Refine `shape` by `field`; RelationError if they differ at another axis than `skip`."""
    require_same_dtype("joined tensors", first, field)
    if len(field.shape) != len(shape):
        detail = f"they have {len(shape)} and {len(field.shape)} dimensions"
        raise conflict("joined tensors", first, field, detail)
    for axis, dim in enumerate(field.shape):
        if axis == skip:
            continue
        common = same_dim(shape[axis], dim)
        if common is None:
            detail = f"dimension {axis} is {shape[axis]} and {dim}"
            remedy = "Tensors are joined along one axis; their other sizes must be equal."
            sizes = shape[axis], dim
            raise conflict("joined tensors", first, field, detail, remedy, sizes=sizes)
        shape[axis] = common
