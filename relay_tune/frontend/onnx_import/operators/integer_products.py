"""Products of integers with zero points, as products of what is stored.

    sum((a - x) * (b - y)) = sum(a * b) - x * sum(b - y) - y * sum(a)

Instructions multiply bytes, not their differences, which have nine bits. Sums of constants are
computed before a run. All of it is modulo 2^32, as sums in int32 are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    rank_of,
    static_shape,
    weight,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.convolution import along_axis, padded_convolution
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Constant, Expr


def integer_product(
    build: Builder, left: Expr, left_zero: Expr | None, right: Expr, right_zero: Expr | None
) -> Expr:
    """The int32 product of two quantized matrices; zero points of rows and of columns."""
    if rank_of(left) == 1:
        row = build.call("expand_dims", left, axis=0)
        product = integer_product(build, row, left_zero, right, right_zero)
        axis = rank_of(product) - (1 if rank_of(right) == 1 else 2)
        return build.call("squeeze", product, axis=(axis,))
    if rank_of(right) == 1:
        column = build.call("expand_dims", right, axis=1)
        product = integer_product(build, left, left_zero, column, right_zero)
        return build.call("squeeze", product, axis=(rank_of(product) - 1,))
    right, right_zero = _without_zero(right, right_zero, rank_of(right) - 1)
    total = matrix_product(build, left, right, "int32")
    of_rows = _zero(build, left, left_zero, rank_of(left) - 2)
    of_columns = _zero(build, right, right_zero, rank_of(right) - 1)
    if of_rows is not None:
        columns = _sum(build, _less(build, right, of_columns), -2)
        total = _less(build, total, build.call("multiply", of_rows, columns))
    if of_columns is not None:
        rows = _sum(build, left, -1)
        total = _less(build, total, build.call("multiply", rows, of_columns))
    return total


def integer_convolution(
    node: OnnxNode,
    build: Builder,
    data: Expr,
    data_zero: Expr | None,
    kernel: Expr,
    kernel_zero: Expr | None,
) -> Expr:
    """The int32 convolution of quantized integers; a zero point of the data, and of channels."""
    kernel, kernel_zero = _without_zero(kernel, kernel_zero, 0)
    of_data = None if _is_zero(data_zero) else _number(build, data_zero)
    of_channels = _zero(build, kernel, kernel_zero, 0)
    total, padded = padded_convolution(node, build, data, kernel, of_data, "int32")
    axes = rank_of(kernel)
    if of_data is not None:
        sums = _less(build, kernel, of_channels)
        sums = build.call("sum", sums, axis=tuple(range(1, axes)), keepdims=False)
        product = build.call("multiply", cast_to(build, of_data, "int32"), sums)
        total = _less(build, total, along_axis(build, product, axes, 1))
    if of_channels is None:
        return total
    groups = node.integer("group", 1)
    ones = build.filled((groups, *static_shape(kernel)[1:]), 1, "int8")
    kept = {name: each for name, each in node.attributes.items() if name not in _PADDING}
    bare = replace(node, attributes=kept if padded is not data else node.attributes)
    sums, _ = padded_convolution(bare, build, padded, ones, None, "int32")
    if groups > 1:
        sums = build.call("repeat", sums, repeats=static_shape(kernel)[0] // groups, axis=1)
    vector = build.call("reshape", of_channels, newshape=(-1,))
    return _less(build, total, build.call("multiply", sums, along_axis(build, vector, axes, 1)))


_PADDING = ("pads", "auto_pad")


def _without_zero(numbers: Expr, zero: Expr | None, axis: int) -> tuple[Expr, Expr | None]:
    """Constants as bytes without a zero point where their differences to it are such."""
    if not isinstance(numbers, Constant) or not isinstance(zero, Constant):
        return numbers, zero
    offset = zero.data.astype(np.int64)
    if offset.size == 1:
        offset = offset.reshape(())
    elif offset.ndim == 1:
        offset = offset.reshape(-1, *(1,) * (numbers.data.ndim - 1 - axis))
    if np.broadcast_shapes(offset.shape, numbers.data.shape) != numbers.data.shape:
        raise ModelError(f"zero points of shape {zero.data.shape} do not fit {numbers.data.shape}.")
    differences = numbers.data.astype(np.int64) - offset
    limits = np.iinfo(np.int8)
    if not differences.size or differences.min() < limits.min or differences.max() > limits.max:
        return numbers, zero
    return weight(differences.astype(np.int8)), None


def _zero(build: Builder, data: Expr, zero: Expr | None, axis: int) -> Expr | None:
    """A zero point in int32 that broadcasts to the data; None where it is zero everywhere."""
    if zero is None or _is_zero(zero):
        return None
    if rank_of(zero) <= 1:
        zero = along_axis(build, zero, rank_of(data), checked_axis(axis, rank_of(data)))
    return cast_to(build, zero, "int32")


def _is_zero(zero: Expr | None) -> bool:
    return zero is None or (isinstance(zero, Constant) and not zero.data.any())


def _number(build: Builder, zero: Expr | None) -> Expr:
    """The zero point of all data."""
    if zero is None or rank_of(zero) > 1 or (rank_of(zero) and static_shape(zero) != (1,)):
        raise ModelError("the data of a convolution have one zero point.")
    return build.call("reshape", zero, newshape=()) if rank_of(zero) else zero


def _less(build: Builder, data: Expr, other: Expr | None) -> Expr:
    """A difference in int32."""
    wide = cast_to(build, data, "int32")
    return wide if other is None else build.call("subtract", wide, other)


def _sum(build: Builder, data: Expr, axis: int) -> Expr:
    wide = cast_to(build, data, "int32")
    return build.call("sum", wide, axis=(axis + rank_of(data),), keepdims=True)


def translate_matmul_integer(node: OnnxNode, build: Builder) -> Expr:
    """A product of quantized matrices, summed in int32."""
    return integer_product(build, node.input(0), node.optional(2), node.input(1), node.optional(3))


def translate_conv_integer(node: OnnxNode, build: Builder) -> Expr:
    """A convolution of quantized integers, summed in int32."""
    return integer_convolution(
        node, build, node.input(0), node.optional(2), node.input(1), node.optional(3)
    )


INTEGER_PRODUCTS: Mapping[str, Translator] = {
    "MatMulInteger": translate_matmul_integer,
    "ConvInteger": translate_conv_integer,
}
