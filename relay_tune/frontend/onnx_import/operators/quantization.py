"""Quantized operators of ONNX, in integers where the standard says integers."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    dtype_of,
    rank_of,
    shape_of,
    static_shape,
)
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES, NarrowType, number_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.convolution import along_axis, centred, convolution
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.narrow import cast_element_type, noted, widened
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import dtype_name, integer_range, is_float, is_integer
from relay_tune.ir.expr import Expr
from relay_tune.typing.relations.quantization import STORED

FLOAT32 = 1
"""ONNX's number of the element type."""


def _parameter(node: OnnxNode, build: Builder, data: Expr, parameter: Expr) -> Expr:
    """A scale or zero point shaped to broadcast: one number, one a place, or one a block."""
    if rank_of(parameter) <= 1:
        if rank_of(parameter) == 0 or static_shape(parameter) == (1,):
            return along_axis(build, parameter, rank_of(data), 0)
        axis = checked_axis(node.integer("axis", 1), rank_of(data))
        return along_axis(build, parameter, rank_of(data), axis)
    axis = checked_axis(node.integer("axis", 1), rank_of(data))
    block = node.integer("block_size", 0)
    size, count = static_shape(data)[axis], static_shape(parameter)[axis]
    if rank_of(parameter) != rank_of(data) or not 0 < block <= max(size, 1):
        raise ModelError(f"a block_size of {block} does not fit an axis of size {size}.")
    if -(-size // block) != count:
        raise ModelError(f"{count} blocks of {block} do not cover an axis of size {size}.")
    spread = build.call("repeat", parameter, repeats=block, axis=axis)
    if count * block == size:
        return spread
    return build.call("strided_slice", spread, begin=(0,), end=(size,), strides=(1,), axes=(axis,))


def saturated(build: Builder, data: Expr, dtype: str) -> Expr:
    """Rounded numbers limited to the range of an integer type, and of that type."""
    return limited(build, data, integer_range(dtype), dtype)


def limited(build: Builder, data: Expr, bounds: tuple[int, int], dtype: str) -> Expr:
    """Rounded floats limited to bounds, as an integer type that has them.

    NaN becomes the lower one, as in onnxruntime: it is not above it.
    """
    low, high = (build.like(bound, data) for bound in bounds)
    data = build.call("where", build.call("greater", data, low), data, low)
    return cast_to(build, build.call("minimum", data, high), dtype)


def quantized(build: Builder, data: Expr, scale: Expr, zero: Expr | None, dtype: str) -> Expr:
    """round(x / scale) + zero point, half to even, limited to the range of `dtype`."""
    return _rounded(build, build.call("divide", data, scale), zero, dtype)


def _rounded(build: Builder, ratio: Expr, zero: Expr | None, target: str | NarrowType) -> Expr:
    rounded = build.call("round", ratio)
    if dtype_of(rounded) in ("float16", "bfloat16"):  # they have no 32767, nor sums with it
        rounded = cast_to(build, rounded, "float32")
    if zero is not None:
        rounded = build.call("add", rounded, cast_to(build, zero, dtype_of(rounded)))
    if isinstance(target, str):
        return saturated(build, rounded, target)
    return noted(build, limited(build, rounded, target.range, target.storage), target)


def translate_quantize(node: OnnxNode, build: Builder) -> Expr:
    """Numbers as integers: a scale and a zero point for all, for each place, or for blocks."""
    data, scale, zero = node.input(0), node.input(1), node.optional(2)
    plain = _plainly_quantized(node, build)
    if plain is not None:
        return plain
    precision = node.integer("precision", 0)
    wide = dtype_name(precision, "the division") if precision else _widest(data, scale)
    scale = cast_to(build, _parameter(node, build, data, scale), wide)
    target = _quantized_type(node, build, zero)
    ratio = build.call("divide", cast_to(build, data, wide), scale)
    offset = None if zero is None else _parameter(node, build, data, widened(build, zero))
    if isinstance(target, NarrowType) and target.is_float:
        if offset is not None:
            ratio = build.call("add", ratio, cast_to(build, offset, dtype_of(ratio)))
        saturate = node.flag("saturate", 1)
        return cast_element_type(build, ratio, number_of(target), saturate)
    return _rounded(build, ratio, offset, target)


def _plainly_quantized(node: OnnxNode, build: Builder) -> Expr | None:
    """float32 as bytes or words with parameters of float32, for all or for each index of an axis.

    None where it is anything else.
    """
    data, scale, zero = node.input(0), node.input(1), node.optional(2)
    target = _quantized_type(node, build, zero)
    is_common = dtype_of(data) == dtype_of(scale) == "float32" and target in STORED
    if not is_common or node.integer("precision", 0) not in (0, FLOAT32):
        return None
    parameters = _vectors(node, build, data, scale, zero)
    if parameters is None:
        return None
    scale, zero, axis = parameters
    if zero is None:
        zero = build.constant(0, str(target))
    return build.call("qnn.quantize", data, scale, zero, out_dtype=target, axis=axis)


def _plainly_dequantized(node: OnnxNode, build: Builder, data: Expr) -> Expr | None:
    """The same the other way; what weights are stored as is not lost by computing them now."""
    scale, zero = node.input(1), node.optional(2)
    asked = node.integer("output_dtype", 0)
    dtypes = {dtype_of(scale), dtype_name(asked, "the result") if asked else "float32"}
    if dtypes != {"float32"} or not is_integer(dtype_of(data)):
        return None
    parameters = _vectors(node, build, data, scale, None if zero is None else widened(build, zero))
    if parameters is None:
        return None
    scale, zero, axis = parameters
    if zero is None:
        zero = build.constant(0, dtype_of(data))
    return build.deferred("qnn.dequantize", data, scale, zero, axis=axis)


def _vectors(
    node: OnnxNode, build: Builder, data: Expr, scale: Expr, zero: Expr | None
) -> tuple[Expr, Expr | None, int] | None:
    """Scale and zero point as scalars or vectors, and their axis; None if they are of blocks."""
    given = [each for each in (scale, zero) if each is not None]
    if any(rank_of(each) > 1 for each in given):
        return None
    found = [
        build.call("reshape", each, newshape=()) if shape_of(each) == (1,) else each
        for each in given
    ]
    axis = -1
    if any(rank_of(each) for each in found):
        axis = checked_axis(node.integer("axis", 1), rank_of(data))
    return found[0], found[1] if zero is not None else None, axis


def _quantized_type(node: OnnxNode, build: Builder, zero: Expr | None) -> str | NarrowType:
    """The element type of the result: that of the zero point, or of an attribute."""
    if zero is not None:
        return build.narrow.get(zero, dtype_of(zero))
    asked = node.integer("output_dtype", 0)
    if asked in NARROW_TYPES:
        return NARROW_TYPES[asked]
    return dtype_name(asked, "the result") if asked else "uint8"


def _widest(data: Expr, scale: Expr) -> str:
    """The type of the division: that of the scale, and float32 for integers."""
    if is_float(dtype_of(data)) and dtype_of(data) != dtype_of(scale):
        return "float32"
    return dtype_of(scale)


def translate_dequantize(node: OnnxNode, build: Builder) -> Expr:
    """(x - zero point) * scale."""
    data, scale, zero = widened(build, node.input(0)), node.input(1), node.optional(2)
    plain = _plainly_dequantized(node, build, data)
    if plain is not None:
        return plain
    asked = node.integer("output_dtype", 0)
    dtype = dtype_name(asked, "the result") if asked else dtype_of(scale)
    scale = _parameter(node, build, data, scale)
    wide = data
    if not is_float(dtype_of(data)) and dtype_of(data) != "uint32":
        wide = cast_to(build, data, "int32")
    if zero is not None:
        zero = _parameter(node, build, data, widened(build, zero))
        wide = build.call("subtract", wide, cast_to(build, zero, dtype_of(wide)))
    if dtype_of(scale) in ("float16", "bfloat16"):
        product = build.call(
            "multiply", cast_to(build, wide, "float32"), cast_to(build, scale, "float32")
        )
    else:
        product = build.call("multiply", cast_to(build, wide, dtype_of(scale)), scale)
    return cast_to(build, product, dtype)


def translate_dynamic_quantize(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """uint8 with the scale and zero point that the data needs; both are outputs too."""
    data = node.input(0)
    every = tuple(range(rank_of(data)))
    zero = build.like(0, data)
    low = build.call("minimum", build.call("min", data, axis=every, keepdims=False), zero)
    high = build.call("maximum", build.call("max", data, axis=every, keepdims=False), zero)
    span = build.call("subtract", high, low)
    scale = build.call("divide", span, build.like(255, data))
    empty = build.call("equal", span, zero)
    scale = build.call("where", empty, build.like(1, data), scale)
    ratio = build.call("divide", build.call("subtract", zero, low), scale)
    zero_point = saturated(build, build.call("round", ratio), "uint8")
    return [quantized(build, data, scale, zero_point, "uint8"), scale, zero_point]


def integer_product(
    build: Builder, left: Expr, left_zero: Expr | None, right: Expr, right_zero: Expr | None
) -> Expr:
    """The int32 product of two quantized matrices; zero points of rows and of columns."""
    row_axis = max(rank_of(left) - 2, 0)
    first = _less_zero(build, left, left_zero, row_axis)
    second = _less_zero(build, right, right_zero, rank_of(right) - 1)
    return matrix_product(build, first, second)


def _less_zero(build: Builder, data: Expr, zero: Expr | None, axis: int) -> Expr:
    if zero is None or rank_of(zero) <= 1:
        return centred(build, data, zero, axis)
    return build.call(
        "subtract", build.call("cast", data, dtype="int32"), build.call("cast", zero, dtype="int32")
    )


def translate_matmul_integer(node: OnnxNode, build: Builder) -> Expr:
    """A product of quantized matrices, summed in int32."""
    return integer_product(build, node.input(0), node.optional(2), node.input(1), node.optional(3))


def _rescaled(build: Builder, total: Expr, scales: tuple[Expr, Expr, Expr], zero: Expr) -> Expr:
    """int32 sums times (scale a * scale b / scale y), quantized with a zero point."""
    first, second, result = (cast_to(build, each, "float32") for each in scales)
    factor = build.call("divide", build.call("multiply", first, second), result)
    value = build.call("multiply", cast_to(build, total, "float32"), factor)
    rounded = build.call("round", value)
    shifted = build.call("add", rounded, cast_to(build, zero, "float32"))
    return saturated(build, shifted, dtype_of(zero))


def translate_qlinear_matmul(node: OnnxNode, build: Builder) -> Expr:
    """A product of quantized matrices, quantized again."""
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = (
        node.input(place) for place in range(8)
    )
    total = integer_product(build, left, left_zero, right, right_zero)
    rank = rank_of(total)
    rows = _vector_along(build, left_scale, rank, max(rank - 2, 0))
    columns = _vector_along(build, right_scale, rank, rank - 1)
    if rank_of(scale) > 1 or rank_of(zero) > 1:
        raise UnsupportedOperatorError("a scale of the result for each row is not supported.")
    scales = (rows, columns, _vector_along(build, scale, rank, rank - 1))
    return _rescaled(build, total, scales, _vector_along(build, zero, rank, rank - 1))


def _vector_along(build: Builder, vector: Expr, rank: int, axis: int) -> Expr:
    return vector if rank_of(vector) > 1 else along_axis(build, vector, rank, axis)


def translate_qlinear_conv(node: OnnxNode, build: Builder) -> Expr:
    """A convolution of quantized integers, quantized again."""
    data, scale, zero, weight, weight_scale, weight_zero, out_scale, out_zero = (
        node.input(place) for place in range(8)
    )
    total = convolution(
        node, build, centred(build, data, zero, 1), centred(build, weight, weight_zero, 0)
    )
    bias = node.optional(8)
    if bias is not None:
        total = build.call("nn.bias_add", total, cast_to(build, bias, "int32"), axis=1)
    rank = len(shape_of(total))
    scales = tuple(along_axis(build, each, rank, 1) for each in (scale, weight_scale, out_scale))
    return _rescaled(
        build, total, (scales[0], scales[1], scales[2]), along_axis(build, out_zero, rank, 1)
    )


QUANTIZATIONS: Mapping[str, Translator] = {
    "QuantizeLinear": translate_quantize,
    "DequantizeLinear": translate_dequantize,
    "DynamicQuantizeLinear": translate_dynamic_quantize,
    "MatMulInteger": translate_matmul_integer,
    "QLinearMatMul": translate_qlinear_matmul,
    "QLinearConv": translate_qlinear_conv,
}
