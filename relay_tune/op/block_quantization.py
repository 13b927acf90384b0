"""qnn.dequantize_blocks: numbers of few bits with a scale for each block of them, as floats.

So weights of language models are stored: E. Frantar et al., "GPTQ: Accurate Post-Training
Quantization for Generative Pre-trained Transformers" (ICLR 2023), section 5, has groups with scales
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast
from relay_tune.tensor.scalar_semantics import convert
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations import quantization as relations


@dataclass(frozen=True)
class DequantizeBlocksAttributes(Attributes):
    """Attributes of qnn.dequantize_blocks.

    Attributes:
        bits: of a number: 8, or 4 or 2 of which an element of the data has several, the first in
            its lowest bits: without a sign in bytes, with one in words of int32 (or 8 in int8).
        block: neighbours along the last axis that share a scale; the last block may be shorter.
        size: of the last axis of the result; 0: as many numbers as the data have.
        out_dtype: the element type of the result.
        activations: "int8" where products may round what they multiply by the result to bytes, with
            a scale for each block of a row; empty where that keeps its digits.
    """

    bits: int = 8
    block: int = 32
    size: int = 0
    out_dtype: str = "float32"
    activations: str = ""


def _computation(attributes: DequantizeBlocksAttributes, inputs: Any, types: Any) -> list[Tensor]:
    data, scale, zero = inputs
    number = _number_of(data, attributes.bits)

    def element(*axes: Scalar) -> Scalar:
        *outer, at = axes
        block = (*outer, at // attributes.block)
        offset = zero[block] if zero.rank else zero[()]
        digits = number(outer, at)
        difference = cast(digits, "float32") - cast(offset, "float32")
        return cast(difference * cast(scale[block], "float32"), attributes.out_dtype)

    return [compute("unpacked", integer_shape(types[0]), element)]


def _number_of(data: Tensor, bits: int) -> Callable[[Sequence[Scalar], Scalar], Scalar]:
    """The number at a position of the last axis of some data, as int32.

    One with a sign is moved to the highest bits of its word and back, which gives it its sign.
    """
    width = element_bits(data.dtype)
    together = width // bits

    def number(outer: Sequence[Scalar], at: Scalar) -> Scalar:
        stored = cast(data[(*outer, at // together)], "int32")
        if together == 1:
            return stored
        position = cast(at % together, "int32") * bits
        if data.dtype == "int32":
            return binary("shr", binary("shl", stored, (width - bits) - position), width - bits)
        return binary("and", binary("shr", stored, position), 2**bits - 1)

    return number


def element_bits(dtype: str) -> int:
    """The width of the elements that store numbers."""
    return 8 * DTYPES[dtype].itemsize


def signed_numbers(data: Array, bits: int, *, in_words: bool = False) -> Array:
    """Bytes with numbers from 0 on as numbers with a sign, the middle of which is 0.

    Those of 8 bits are int8, unless they are wanted in words of int32, in which shorter ones always
    lie; zeros fill the last one up.
    """
    middles = sum(2 ** (bits * (index + 1) - 1) for index in range(8 // bits))
    moved = data ^ np.uint8(middles)
    if bits == 8 and not in_words:
        return moved.view(np.int8)
    whole = np.zeros((*data.shape[:-1], -(-data.shape[-1] // 4) * 4), np.uint8)
    whole[..., : data.shape[-1]] = moved
    return whole.view("<i4").astype(np.int32)


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


def _stored_numbers(data: Array, bits: int, size: int) -> Array:
    """The numbers in bytes or words; see `DequantizeBlocksAttributes`."""
    if data.dtype != np.int32:
        return unpacked_numbers(data, bits, size)
    shifts = 32 - bits - np.arange(0, 32, bits, dtype=np.int32)
    numbers = (data[..., None] << shifts) >> np.int32(32 - bits)
    whole = numbers.reshape(*data.shape[:-1], data.shape[-1] * len(shifts))
    return whole[..., :size] if size else whole


def _reference(
    attributes: DequantizeBlocksAttributes, data: Array, scale: Array, zero: Array
) -> Array:
    numbers = _stored_numbers(data, attributes.bits, attributes.size)
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


dequantize_blocks = define(
    name="qnn.dequantize_blocks",
    arguments=("data", "scale", "zero_point"),
    relation=relations.dequantize_blocks,
    kind=FusionKind.INJECTIVE,
    attributes=DequantizeBlocksAttributes,
    compute=_computation,
    reference=_reference,
    other_factor=lambda attributes: attributes.activations,
    documentation=(
        "(number - zero_point) * scale, in float32, of numbers of few bits; each block along "
        "the last axis has a scale, and a zero point unless one is for all."
    ),
)
