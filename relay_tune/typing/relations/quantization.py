"""Type relations of conversions between floats and quantized integers."""

from __future__ import annotations

from typing import Any

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.relations.support import (
    conflict,
    normalize_axis,
    of_tensors,
    require_same_dtype,
    same_dim,
)
from relay_tune.typing.type_text import type_text

STORED = ("int8", "uint8", "int16", "uint16")
"""The types that floats are quantized to: float32 has all of their numbers."""


@of_tensors
def quantize(attributes: Any, data: TensorType, scale: TensorType, zero: TensorType) -> Type:
    """(float32 data, float32 scale, integer zero point): the data's shape, of `out_dtype`."""
    require_same_dtype("quantization", data, scale)
    if attributes.out_dtype not in STORED:
        raise RelationError(
            f"floats cannot be quantized to {attributes.out_dtype}",
            remedy=f"Give one of {', '.join(STORED)} as out_dtype.",
        )
    return _converted("quantization", data, scale, zero, attributes)


@of_tensors
def dequantize(attributes: Any, data: TensorType, scale: TensorType, zero: TensorType) -> Type:
    """(integer data, float32 scale, integer zero point): the data's shape, of `out_dtype`."""
    _require_integer(data, "the data")
    if attributes.out_dtype != scale.dtype:
        raise RelationError(
            f"the scale has type {type_text(scale)}, but the result is {attributes.out_dtype}"
        )
    return _converted("dequantization", data, scale, zero, attributes)


@of_tensors
def lookup(attributes: Any, data: TensorType, table: TensorType) -> Type:
    """(bytes, a table of 256 bytes): the data's shape, of the table's type."""
    for each, what in ((data, "the data"), (table, "the table")):
        if each.dtype not in ("int8", "uint8"):
            raise RelationError(f"{what} must be bytes, but found {type_text(each)}")
    if table.shape != (256,):
        raise RelationError(f"the table has 256 elements, but found {type_text(table)}")
    return TensorType(data.shape, table.dtype)


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


DATA_TYPES = ("", "int8")
"""Types that products by blocks of numbers may round data to; empty: no rounding."""

NUMBER_TYPES = {2: ("uint8", "int32"), 4: ("uint8", "int32"), 8: ("uint8", "int8", "int32")}
"""The types that store numbers of so many bits."""


@of_tensors
def dequantize_blocks(
    attributes: Any, data: TensorType, scale: TensorType, zero: TensorType
) -> Type:
    """(bytes [.., n], scale [.., blocks], zero point of the same shape or none): [.., size]."""
    size = _numbers(data, attributes)
    if attributes.block < 1:
        raise RelationError(f"a block of {attributes.block} has no numbers")
    if attributes.activations not in DATA_TYPES:
        raise RelationError(
            f"activations cannot be rounded to {attributes.activations}",
            remedy="Give int8, or omit it.",
        )
    if not scale.dtype.startswith(("float", "bfloat")):
        raise RelationError(f"the scale is of floats, but has type {type_text(scale)}")
    shape = (*data.shape[:-1], -(-size // attributes.block))
    for parameter in (scale, zero) if zero.shape else (scale,):
        if parameter.shape != shape:
            blocks = TensorType(shape, parameter.dtype)
            detail = "there is one number for each block"
            raise conflict("dequantization", blocks, parameter, detail)
    return TensorType((*data.shape[:-1], size), attributes.out_dtype)


def _numbers(data: TensorType, attributes: Any) -> int:
    """How many numbers of few bits the last axis of some data has."""
    bits: int = attributes.bits
    size: int = attributes.size
    if data.dtype not in NUMBER_TYPES.get(bits, ()):
        raise RelationError(f"{type_text(data)} does not store numbers of {bits} bits")
    if not data.shape or not isinstance(data.shape[-1], int):
        raise RelationError(f"the last size of {type_text(data)} is not known")
    together = 8 * DTYPES[data.dtype].itemsize // bits
    if size and -(-size // together) != data.shape[-1]:
        raise RelationError(f"{type_text(data)} does not store {size} numbers of {bits} bits")
    return size or data.shape[-1] * together
