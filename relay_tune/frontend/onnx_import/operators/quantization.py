"""Conversions of ONNX between numbers and integers with scales and zero points."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    dtype_of,
    rank_of,
    static_shape,
)
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES, NarrowType, number_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.convolution import along_axis
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.narrow import cast_element_type, widened
from relay_tune.frontend.onnx_import.operators.stored_numbers import (
    check_parameters,
    check_scale,
    plainly_real,
    plainly_stored,
    rounded_numbers,
    stored_numbers,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import dtype_name, is_float
from relay_tune.ir.expr import Expr

FLOAT32 = 1
"""ONNX's number of the element type."""


def _parameter(node: OnnxNode, build: Builder, data: Expr, parameter: Expr) -> Expr:
    """A scale or zero point shaped to broadcast: one number, one an index, or one a block."""
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


def translate_quantize(node: OnnxNode, build: Builder) -> Expr:
    """Numbers as integers: a scale and a zero point for all, for each index, or for blocks."""
    data, scale, zero = node.input(0), node.input(1), node.optional(2)
    check_scale(scale, divides=True)
    target, axis = _quantized_type(node, build, zero), node.integer("axis", 1)
    precision = node.integer("precision", 0)
    if isinstance(target, str) and precision in (0, FLOAT32):
        plain = plainly_stored(build, data, scale, zero, target, axis)
        if plain is not None:
            return plain
    wide = dtype_name(precision, "the division") if precision else _widest(data, scale)
    scale = cast_to(build, _parameter(node, build, data, scale), wide)
    ratio = build.call("divide", cast_to(build, data, wide), scale)
    offset = None if zero is None else _parameter(node, build, data, widened(build, zero))
    if isinstance(target, NarrowType) and target.is_float:
        if offset is not None:
            ratio = build.call("add", ratio, cast_to(build, offset, dtype_of(ratio)))
        saturate = node.flag("saturate", 1)
        return cast_element_type(build, ratio, number_of(target), saturate)
    return rounded_numbers(build, ratio, offset, target)


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
    data, scale, zero = node.input(0), node.input(1), node.optional(2)
    check_parameters(build, data, scale, zero)
    data = widened(build, data)
    asked, axis = node.integer("output_dtype", 0), node.integer("axis", 1)
    dtype = dtype_name(asked, "the result") if asked else dtype_of(scale)
    if dtype == "float32":
        known = None if zero is None else widened(build, zero)
        plain = plainly_real(build, data, scale, known, axis)
        if plain is not None:
            return plain
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
    """uint8 with the scale and zero point that the data needs; both are outputs too.

    An infinity below 0 has the zero point 255, as in onnxruntime.
    """
    data = node.input(0)
    every = tuple(range(rank_of(data)))
    zero = build.like(0, data)
    low = build.call("minimum", build.call("min", data, axis=every, keepdims=False), zero)
    high = build.call("maximum", build.call("max", data, axis=every, keepdims=False), zero)
    span = build.call("subtract", high, low)
    highest = build.like(255, data)
    scale = build.call("divide", span, highest)
    empty = build.call("equal", span, zero)
    scale = build.call("where", empty, build.like(1, data), scale)
    ratio = build.call("divide", build.call("subtract", zero, low), scale)
    ratio = build.call("where", build.call("less", ratio, highest), ratio, highest)  # or NaN
    zero_point = rounded_numbers(build, ratio, None, "uint8")
    return [stored_numbers(build, data, scale, zero_point, "uint8"), scale, zero_point]


QUANTIZATIONS: Mapping[str, Translator] = {
    "QuantizeLinear": translate_quantize,
    "DequantizeLinear": translate_dequantize,
    "DynamicQuantizeLinear": translate_dynamic_quantize,
}
