"""Products with weights of few bits, a scale for each block of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    dtype_of,
    rank_of,
    static_shape,
    weight,
)
from relay_tune.frontend.onnx_import.narrow_types import NarrowType
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.indexing import translate_gather
from relay_tune.frontend.onnx_import.operators.microsoft.fused import standard, sum_of
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Constant, Expr
from relay_tune.op.block_quantization import packed_numbers

ROUNDED_TO_BYTES = 4
"""The accuracy_level of MatMulNBits that lets data become int8, with a scale for each block.

0 says nothing, and 1 to 3 stand for float32, float16 and bfloat16, which float32 serves as well:
a level says how precise data have to be at least.
"""


def translate_matmul_n_bits(node: OnnxNode, build: Builder) -> Expr:
    """A W^T + bias, where W [N, K] is stored as (number - zero point) * scale of its block."""
    if node.integer("weight_prepacked", 0):
        raise UnsupportedOperatorError("prepacked weights are not supported.")
    data, bits = node.input(0), node.integer("bits", 4)
    rows, size, block = node.integer("N"), node.integer("K"), node.integer("block_size")
    if bits not in (2, 4, 8) or block < 1 or size < 1:
        raise UnsupportedOperatorError(
            f"weights of {bits} bits in blocks of {block} are not supported."
        )
    blocks = -(-size // block)
    _check_shape(node.input(1), (rows, blocks, block * bits // 8))
    numbers = build.call("reshape", node.input(1), newshape=(rows, blocks * block * bits // 8))
    if blocks * block != size:
        numbers = part(build, numbers, 1, 0, -(-size * bits // 8))
    scales = build.call("reshape", node.input(2), newshape=(rows, blocks))
    zeros = zero_points(build, node.optional(3), (rows, blocks), bits)
    if node.optional(4) is not None:
        groups = _groups(node.input(4), size, blocks)
        order = np.argsort(groups, kind="stable")
        digits = part(build, unpacked(build, numbers, bits), 1, 0, size)
        if not np.array_equal(groups[order], np.arange(size) // block):
            weights = _weights_of_groups(build, (digits, scales, zeros), groups)
            return _product(node, build, data, cast_to(build, weights, dtype_of(data)))
        if (np.diff(order) < 0).any():
            data = _columns(build, data, order)
            numbers = _packed(_columns(build, digits, order), bits)
    weights = build.deferred(
        "qnn.dequantize_blocks",
        numbers,
        scales,
        zeros,
        bits=bits,
        block=block,
        size=size,
        out_dtype=dtype_of(data),
        activations=activations_of_level(node),
    )
    return _product(node, build, data, weights)


def _product(node: OnnxNode, build: Builder, data: Expr, weights: Expr) -> Expr:
    return sum_of(build, build.call("nn.dense", data, weights), node.optional(5))


def _groups(given: Expr, size: int, blocks: int) -> np.ndarray:
    """g_idx, the block whose scale and zero point each column has.

    GPTQ quantizes columns in the order of their importance, and has blocks of neighbours in that.
    """
    if not isinstance(given, Constant):
        raise UnsupportedOperatorError("g_idx has to be a constant.")
    groups = given.data.astype(np.int64)
    if groups.shape != (size,) or groups.min() < 0 or groups.max() >= blocks:
        raise ModelError(f"g_idx has to have {size} numbers from 0 to {blocks - 1}.")
    return groups


def _columns(build: Builder, data: Expr, order: np.ndarray) -> Expr:
    indices = build.constant(order, "int64")
    return build.call("take", data, indices, axis=rank_of(data) - 1, mode="clip")


def _weights_of_groups(
    build: Builder, columns: tuple[Expr, Expr, Expr], groups: np.ndarray
) -> Expr:
    """Weights as floats, where groups are not blocks of columns in another order."""
    numbers, scales, zeros = columns
    if rank_of(zeros):
        zeros = _columns(build, zeros, groups)
    wide, offset = (cast_to(build, each, "float32") for each in (numbers, zeros))
    scale = cast_to(build, _columns(build, scales, groups), "float32")
    return build.call("multiply", build.call("subtract", wide, offset), scale)


def activations_of_level(node: OnnxNode) -> str:
    """What products may round their data to; see `qnn.dequantize_blocks`."""
    level = node.integer("accuracy_level", 0)
    if not 0 <= level <= ROUNDED_TO_BYTES:
        raise UnsupportedOperatorError(f"there is no accuracy_level {level}.")
    return "int8" if level == ROUNDED_TO_BYTES else ""


def _check_shape(data: Expr, wanted: tuple[int, ...]) -> None:
    if static_shape(data) != wanted:
        raise ModelError(f"the weights have the shape {static_shape(data)} instead of {wanted}.")


def unpacked(build: Builder, data: Expr, bits: int) -> Expr:
    """The numbers in bytes, those in the low bits first, along the last axis."""
    if bits == 8:
        return data
    shifts = build.constant(np.arange(0, 8, bits), "uint8")
    digits = build.call("right_shift", build.call("expand_dims", data, axis=rank_of(data)), shifts)
    digits = build.call("bitwise_and", digits, build.like(2**bits - 1, digits))
    return build.call("reshape", digits, newshape=(*(0,) * (rank_of(data) - 1), -3))


def _packed(digits: Expr, bits: int) -> Expr:
    """The bytes of numbers along the last axis, the first in the low bits."""
    if not isinstance(digits, Constant):
        raise UnsupportedOperatorError("weights with g_idx have to be constants.")
    return weight(packed_numbers(digits.data, bits))


def zero_points(build: Builder, given: Expr | None, shape: tuple[int, int], bits: int) -> Expr:
    """The zero point of each block, [N, blocks]: packed as the weights are, or as it is."""
    rows, blocks = shape
    if given is None:
        return build.constant(2 ** (bits - 1), "uint8")
    if dtype_of(given) != "uint8":
        return build.call("reshape", given, newshape=shape)
    packed = build.call("reshape", given, newshape=(rows, -(-blocks * bits // 8)))
    return part(build, unpacked(build, packed, bits), 1, 0, blocks)


def translate_gather_block_quantized(node: OnnxNode, build: Builder) -> Expr:
    """Slices of a table of few bits by index, as (number - zero point) * scale of their block.

    The table, the scales and the zero points are gathered first; only what is chosen is converted.
    Numbers of 4 bits are elements of a narrow type, or lie two a byte along the last axis.
    """
    data, indices = node.input(0), node.input(1)
    rank, kind = rank_of(data), build.narrow.get(data)
    axis = checked_axis(node.integer("gather_axis", 0), rank)
    blocks = checked_axis(node.integer("quantize_axis", 1), rank)
    bits = 8 if kind is not None else node.integer("bits", 4)
    if axis == blocks or (bits < 8 and rank - 1 != blocks):
        raise UnsupportedOperatorError(
            "a table is supported whose blocks lie along the last axis, and not the gathered one."
        )
    if bits not in (2, 4, 8):
        raise UnsupportedOperatorError(f"a table of {bits} bits is not supported.")
    size = static_shape(data)[blocks] * 8 // bits
    row = blocks - 1 + rank_of(indices) if axis < blocks else blocks

    def chosen(table: Expr) -> Expr:
        return translate_gather(standard(node, table, indices, axis=axis), build)

    def spread(numbers: Expr) -> Expr:
        """One number of each block for all of its elements."""
        numbers = build.call("repeat", numbers, repeats=node.integer("block_size", 128), axis=row)
        return part(build, numbers, row, 0, size)

    dtype = dtype_of(node.input(2))
    wide = cast_to(build, unpacked(build, chosen(data), bits), dtype)
    zero = node.optional(3)
    if zero is not None:
        offsets = cast_to(build, unpacked(build, chosen(zero), bits), dtype)
        wide = build.call("subtract", wide, spread(offsets))
    elif middle := _middle(kind, bits):
        wide = shifted(build, wide, -middle)
    return build.call("multiply", wide, spread(chosen(node.input(2))))


def _middle(kind: NarrowType | None, bits: int) -> int:
    """The zero point where none is given: that of bytes is in the middle of their numbers."""
    return 2 ** (bits - 1) if kind is None else 0


BLOCK_WEIGHTS: Mapping[str, Translator] = {
    "MatMulNBits": translate_matmul_n_bits,
    "GatherBlockQuantized": translate_gather_block_quantized,
}
