"""qnn.dequantize_blocks: numbers of few bits with a scale for each block of them, as floats.

So weights of language models are stored: E. Frantar et al., "GPTQ: Accurate Post-Training
Quantization for Generative Pre-trained Transformers" (ICLR 2023), section 5, has groups with scales
of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, register
from relay_tune.op.elements import Array, integer_shape
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast
from relay_tune.tensor.scalar_semantics import convert
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations import quantization as relations


@dataclass(frozen=True)
class DequantizeBlocksAttributes(Attributes):
    """Attributes of qnn.dequantize_blocks.

    Attributes:
        bits: of a number: 8, or 4 or 2 of which a byte has several, the first in its lowest bits.
        block: neighbours along the last axis that share a scale; the last block may be shorter.
        size: of the last axis of the result; 0: as many numbers as the bytes have.
        out_dtype: the element type of the result.
    """

    bits: int = 8
    block: int = 32
    size: int = 0
    out_dtype: str = "float32"


def _computation(attributes: DequantizeBlocksAttributes, inputs: Any, types: Any) -> list[Tensor]:
    data, scale, zero = inputs
    in_byte = 8 // attributes.bits

    def number(*outer: Scalar, at: Scalar) -> Scalar:
        byte = cast(data[(*outer, at // in_byte)], "int32")
        if in_byte == 1:
            return byte
        moved = binary("shr", byte, cast(at % in_byte, "int32") * attributes.bits)
        return binary("and", moved, 2**attributes.bits - 1)

    def element(*axes: Scalar) -> Scalar:
        *outer, at = axes
        block = (*outer, at // attributes.block)
        offset = zero[block] if zero.rank else zero[()]
        digits = number(*outer, at=at)
        if zero.dtype.startswith(("int", "uint")):
            difference = cast(digits - cast(offset, "int32"), "float32")
        else:
            difference = cast(digits, "float32") - cast(offset, "float32")
        return cast(difference * cast(scale[block], "float32"), attributes.out_dtype)

    return [compute("unpacked", integer_shape(types[0]), element)]


def unpacked_numbers(data: Array, bits: int, size: int = 0) -> Array:
    """The numbers of `bits` bits in bytes along the last axis; the first `size` (0: all)."""
    if bits < 8:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        digits = (data[..., None] >> shifts) & np.uint8(2**bits - 1)
        data = digits.reshape(*data.shape[:-1], data.shape[-1] * len(shifts))
    return data[..., :size] if size else data


def packed_numbers(numbers: Array, bits: int) -> Array:
    """Numbers from 0 on, of type uint8, in bytes along the last axis; 0 fills the last byte up."""
    in_byte = 8 // bits
    short = -numbers.shape[-1] % in_byte
    whole = np.pad(numbers, [*[(0, 0)] * (numbers.ndim - 1), (0, short)])
    digits = whole.reshape(*whole.shape[:-1], whole.shape[-1] // in_byte, in_byte)
    shifted = digits << np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray(np.bitwise_or.reduce(shifted, axis=-1, dtype=np.uint8))


def _reference(
    attributes: DequantizeBlocksAttributes, data: Array, scale: Array, zero: Array
) -> Array:
    numbers = unpacked_numbers(data, attributes.bits, attributes.size)
    size = numbers.shape[-1]

    def spread(parameter: Array) -> Array:
        if not parameter.ndim:
            return parameter
        return np.repeat(parameter, attributes.block, axis=-1)[..., :size]

    with np.errstate(all="ignore"):
        wide = np.int32 if zero.dtype.kind in "iu" else np.float32
        difference: Array = numbers.astype(wide) - spread(zero).astype(wide)
        real = difference.astype(np.float32) * spread(scale).astype(np.float32)
    return convert(real, attributes.out_dtype)


dequantize_blocks = register(
    Operator(
        name="qnn.dequantize_blocks",
        arguments=("data", "scale", "zero_point"),
        relation=relations.dequantize_blocks,
        kind=FusionKind.INJECTIVE,
        attributes=DequantizeBlocksAttributes,
        compute=_computation,
        reference=_reference,
        documentation=(
            "(number - zero_point) * scale, in float32, of numbers of few bits; each block along "
            "the last axis has a scale, and a zero point unless one is for all."
        ),
    )
)
