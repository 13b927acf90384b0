"""Type relations of conversions between floats and quantized integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.support import (
    conflict,
    known_tensors,
    normalize_axis,
    require_same_dtype,
    same_dim,
)
from relay_tune.typing.type_text import type_text

STORED = ("int8", "uint8", "int16", "uint16")
"""The types that floats are quantized to: float32 has all of their numbers."""


def quantize(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(float32 data, float32 scale, integer zero point): the data's shape, of `out_dtype`."""
    tensors = known_tensors(inputs)
    if tensors is None:
        return None
    data, scale, zero = tensors
    require_same_dtype("quantization", data, scale)
    if attributes.out_dtype not in STORED:
        raise RelationError(
            f"floats cannot be quantized to {attributes.out_dtype}",
            remedy=f"Give one of {', '.join(STORED)} as out_dtype.",
        )
    return _converted("quantization", data, scale, zero, attributes)


def dequantize(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(integer data, float32 scale, integer zero point): the data's shape, of `out_dtype`."""
    tensors = known_tensors(inputs)
    if tensors is None:
        return None
    data, scale, zero = tensors
    _require_integer(data, "the data")
    if attributes.out_dtype != scale.dtype:
        raise RelationError(
            f"the scale has type {type_text(scale)}, but the result is {attributes.out_dtype}"
        )
    return _converted("dequantization", data, scale, zero, attributes)


def _converted(
    rule: str, data: TensorType, scale: TensorType, zero: TensorType, attributes: Any
) -> TensorType:
    if scale.dtype != "float32":
        raise RelationError(f"the scale is float32, but found {type_text(scale)}")
    _require_integer(zero, "the zero point")
    for parameter in (scale, zero):
        if not parameter.shape:
            continue
        axis = normalize_axis(attributes.axis, len(data.shape), data)
        if len(parameter.shape) > 1 or same_dim(parameter.shape[0], data.shape[axis]) is None:
            detail = f"a parameter is one number, or one for each index on axis {axis}"
            raise conflict(rule, data, parameter, detail)
    return TensorType(data.shape, attributes.out_dtype)


def _require_integer(tensor: TensorType, what: str) -> None:
    if not tensor.dtype.startswith(("int", "uint")):
        raise RelationError(f"{what} must be of integers, but has type {type_text(tensor)}")
