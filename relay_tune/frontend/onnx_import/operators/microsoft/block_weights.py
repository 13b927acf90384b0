"""Products with weights of few bits, a scale for each block of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, static_shape
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.microsoft.fused import sum_of
from relay_tune.frontend.onnx_import.operators.microsoft.heads import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr


def translate_matmul_n_bits(node: OnnxNode, build: Builder) -> Expr:
    """A W^T + bias, where W [N, K] is stored as (number - zero point) * scale of its block."""
    if node.integer("weight_prepacked", 0) or node.optional(4) is not None:
        raise UnsupportedOperatorError("prepacked weights and g_idx are not supported.")
    data, bits = node.input(0), node.integer("bits", 4)
    rows, size, block = node.integer("N"), node.integer("K"), node.integer("block_size")
    if bits not in (2, 4, 8) or block < 1 or size < 1:
        raise UnsupportedOperatorError(
            f"weights of {bits} bits in blocks of {block} are not supported."
        )
    blocks = -(-size // block)
    dtype = dtype_of(data)
    _check_shape(node.input(1), (rows, blocks, block * bits // 8))
    numbers = cast_to(build, _unpacked(build, node.input(1), bits), dtype)
    zero = _zero_points(build, node.optional(3), (rows, blocks), bits, dtype)
    scales = build.call("reshape", node.input(2), newshape=(rows, blocks, 1))
    weights = build.call("multiply", build.call("subtract", numbers, zero), scales)
    matrix = build.call("reshape", weights, newshape=(rows, blocks * block))
    if blocks * block != size:
        matrix = part(build, matrix, 1, 0, size)
    product = matrix_product(build, data, build.call("transpose", matrix, axes=(1, 0)))
    return sum_of(build, product, node.optional(5))


def _check_shape(data: Expr, wanted: tuple[int, ...]) -> None:
    if static_shape(data) != wanted:
        raise ModelError(f"the weights have the shape {static_shape(data)} instead of {wanted}.")


def _unpacked(build: Builder, data: Expr, bits: int) -> Expr:
    """The numbers in bytes, those in the low bits first, along the last axis."""
    if bits == 8:
        return data
    shifts = build.constant(np.arange(0, 8, bits), "uint8")
    digits = build.call("right_shift", build.call("expand_dims", data, axis=rank_of(data)), shifts)
    digits = build.call("bitwise_and", digits, build.like(2**bits - 1, digits))
    shape = static_shape(data)
    return build.call("reshape", digits, newshape=(*shape[:-1], shape[-1] * 8 // bits))


def _zero_points(
    build: Builder, given: Expr | None, shape: tuple[int, int], bits: int, dtype: str
) -> Expr:
    """The zero point of each block, [N, blocks, 1]: packed as the weights are, or as it is."""
    rows, blocks = shape
    if given is None:
        return build.constant(2 ** (bits - 1), dtype)
    if dtype_of(given) != "uint8":
        return cast_to(build, build.call("reshape", given, newshape=(rows, blocks, 1)), dtype)
    packed = build.call("reshape", given, newshape=(rows, -(-blocks * bits // 8)))
    numbers = _unpacked(build, packed, bits)
    numbers = part(build, numbers, 1, 0, blocks)
    return cast_to(build, build.call("expand_dims", numbers, axis=2), dtype)


BLOCK_WEIGHTS: Mapping[str, Translator] = {"MatMulNBits": translate_matmul_n_bits}
