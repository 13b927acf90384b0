"""qnn.quantize and qnn.dequantize: floats as integers with a scale and a zero point, and back.

B. Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference" (CVPR 2018), section 2.1: real = (stored - zero point) * scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.ir.expr import Attributes, Expr, constant
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.arithmetic import add, maximum, minimum, multiply, subtract
from relay_tune.op.cast import cast
from relay_tune.op.division import divide
from relay_tune.op.elements import Array, normalized_axis
from relay_tune.op.rounding import round as rounded
from relay_tune.op.shape import expand_dims
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.scalar_semantics import convert
from relay_tune.typing.relations import quantization as relations


@dataclass(frozen=True)
class QuantizeAttributes(Attributes):
    """Attributes of qnn.quantize.

    Attributes:
        out_dtype: the integer type of the result.
        axis: the axis that scales and zero points count where there is more than one.
    """

    out_dtype: str = "int8"
    axis: int = -1


@dataclass(frozen=True)
class DequantizeAttributes(Attributes):
    """Attributes of qnn.dequantize.

    Attributes:
        out_dtype: the element type of the result, that of the scale.
        axis: the axis that scales and zero points count where there is more than one.
    """

    out_dtype: str = "float32"
    axis: int = -1


def _quantize(
    attributes: QuantizeAttributes, arguments: Sequence[Expr], types: Sequence[Type]
) -> Expr:
    """In unsigned integers, in which NaN becomes 0; signed ones are half their range lower."""
    data, scale, zero = arguments
    info = np.iinfo(attributes.out_dtype)
    unsigned = f"uint{info.bits}"
    offset: Expr = cast(_aligned(zero, types, 2, attributes.axis), dtype="float32")
    if info.min:
        offset = add(offset, constant(np.float32(-info.min)))
    ratio = rounded(divide(data, _aligned(scale, types, 1, attributes.axis)))
    largest = constant(np.float32(info.max - info.min))
    limited = minimum(maximum(add(ratio, offset), constant(np.float32(0))), largest)
    stored = cast(limited, dtype=unsigned)
    if not info.min:
        return stored
    return add(cast(stored, dtype=attributes.out_dtype), constant(np.asarray(info.min, info.dtype)))


def _quantize_reference(
    attributes: QuantizeAttributes, data: Array, scale: Array, zero: Array
) -> Array:
    scale, zero = (_aligned_array(each, data, attributes.axis) for each in (scale, zero))
    info = np.iinfo(attributes.out_dtype)
    low, high = np.float32(info.min), np.float32(info.max)
    with np.errstate(all="ignore"):
        shifted = np.rint(data / scale) + zero.astype(np.float32)
        limited = np.minimum(np.where(shifted > low, shifted, low), high)
    return convert(limited.astype(np.float32), attributes.out_dtype)


def _dequantize(
    attributes: DequantizeAttributes, arguments: Sequence[Expr], types: Sequence[Type]
) -> Expr:
    data, scale, zero = arguments
    wide = "uint32" if _tensor(types[0]).dtype == "uint32" else "int32"
    offset = cast(_aligned(zero, types, 2, attributes.axis), dtype=wide)
    difference = subtract(cast(data, dtype=wide), offset)
    real = cast(difference, dtype=attributes.out_dtype)
    return multiply(real, _aligned(scale, types, 1, attributes.axis))


def _dequantize_reference(
    attributes: DequantizeAttributes, data: Array, scale: Array, zero: Array
) -> Array:
    scale, zero = (_aligned_array(each, data, attributes.axis) for each in (scale, zero))
    wide = np.uint32 if data.dtype == np.uint32 else np.int32
    with np.errstate(all="ignore"):
        return (data.astype(wide) - zero.astype(wide)).astype(scale.dtype) * scale


def _tensor(type_: Type) -> TensorType:
    assert isinstance(type_, TensorType)  # the relation takes tensors
    return type_


def _aligned(parameter: Expr, types: Sequence[Type], index: int, axis: int) -> Expr:
    """A parameter so that it broadcasts along the axis that it counts."""
    rank = len(_tensor(types[0]).shape)
    if not _tensor(types[index]).shape:
        return parameter
    trailing = rank - 1 - normalized_axis(axis, rank)
    return expand_dims(parameter, axis=1, num_newaxis=trailing) if trailing else parameter


def _aligned_array(parameter: Array, data: Array, axis: int) -> Array:
    if not parameter.ndim:
        return parameter
    shape = [1] * data.ndim
    shape[axis] = -1
    return parameter.reshape(shape)


quantize = define(
    name="qnn.quantize",
    arguments=("data", "output_scale", "output_zero_point"),
    relation=relations.quantize,
    kind=FusionKind.ELEMENTWISE,
    attributes=QuantizeAttributes,
    composition=_quantize,
    reference=_quantize_reference,
    documentation=(
        "round(data / output_scale) + output_zero_point, halves to even, limited to the range "
        "of out_dtype; NaN becomes its lowest value."
    ),
)
dequantize = define(
    name="qnn.dequantize",
    arguments=("data", "input_scale", "input_zero_point"),
    relation=relations.dequantize,
    kind=FusionKind.ELEMENTWISE,
    attributes=DequantizeAttributes,
    composition=_dequantize,
    reference=_dequantize_reference,
    documentation="(data - input_zero_point) * input_scale.",
)
