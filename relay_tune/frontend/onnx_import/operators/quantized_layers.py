"""QLinearConv and QLinearMatMul: layers on real numbers that are stored as integers.

They are what they mean, a layer of float32 between dequantizations and a quantization, which a pass
makes products of bytes of wherever these pay.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of, static_shape
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.convolution import convolution
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.stored_numbers import real_numbers, stored_numbers
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr


def real_bias(build: Builder, bias: Expr, scales: tuple[Expr, Expr]) -> Expr:
    """int32 numbers that are added to sums of products, whose scale is that of both factors."""
    first, second = (cast_to(build, each, "float32") for each in scales)
    scale = build.call("multiply", first, second)
    if static_shape(scale) not in ((), (1,)) and shape_of(bias)[-1:] != shape_of(scale):
        return build.call("multiply", cast_to(build, bias, "float32"), scale)  # one for all columns
    return real_numbers(build, bias, scale, None)


def translate_qlinear_matmul(node: OnnxNode, build: Builder) -> Expr:
    """A product of quantized matrices, quantized again; scales of rows and of columns."""
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = (
        node.input(index) for index in range(8)
    )
    rows = max(rank_of(left) - 2, 0)
    real = matrix_product(
        build,
        real_numbers(build, left, left_scale, left_zero, rows),
        real_numbers(build, right, right_scale, right_zero),
    )
    return stored_numbers(build, real, scale, zero, dtype_of(zero))


def translate_qlinear_conv(node: OnnxNode, build: Builder) -> Expr:
    """A convolution of quantized integers, quantized again; scales of channels."""
    data, scale, zero, weight, weight_scale, weight_zero, out_scale, out_zero = (
        node.input(index) for index in range(8)
    )
    real = convolution(
        node,
        build,
        real_numbers(build, data, scale, zero, 1),
        real_numbers(build, weight, weight_scale, weight_zero, 0),
    )
    bias = node.optional(8)
    if bias is not None:
        bias = real_bias(build, bias, (scale, weight_scale))
        real = build.call("nn.bias_add", real, bias, axis=1)
    return stored_numbers(build, real, out_scale, out_zero, dtype_of(out_zero), 1)


QUANTIZED_LAYERS: Mapping[str, Translator] = {
    "QLinearMatMul": translate_qlinear_matmul,
    "QLinearConv": translate_qlinear_conv,
}
