"""Operators on quantized tensors, as onnxruntime's quantizer writes them.

They compute in float32 between a dequantization and a quantization, of which a pass makes integers
where these pay. Products of data that are quantized in a run sum in int32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, checked_axis, dtype_of, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import leaky_relu, scaled
from relay_tune.frontend.onnx_import.operators.convolution import along_axis
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.integer_products import integer_product
from relay_tune.frontend.onnx_import.operators.microsoft.attention import attended
from relay_tune.frontend.onnx_import.operators.microsoft.channels_last import (
    channels_first,
    channels_last,
)
from relay_tune.frontend.onnx_import.operators.microsoft.fused import (
    as_standard,
    embedded,
    standard,
    sum_of,
)
from relay_tune.frontend.onnx_import.operators.pooling import POOLS
from relay_tune.frontend.onnx_import.operators.quantization import (
    translate_dequantize,
    translate_dynamic_quantize,
    translate_quantize,
)
from relay_tune.frontend.onnx_import.operators.quantized_layers import (
    real_bias,
    translate_qlinear_conv,
)
from relay_tune.frontend.onnx_import.operators.recurrent import translate_recurrent
from relay_tune.frontend.onnx_import.operators.reduction import REDUCTIONS
from relay_tune.frontend.onnx_import.operators.stored_numbers import real_numbers, stored_numbers
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr

Function = Callable[[OnnxNode, Builder, Expr], Expr]


def _of_one(function: Function) -> Translator:
    """X, its scale and zero point, those of the result."""

    def translate(node: OnnxNode, build: Builder) -> Expr:
        data = node.input(0)
        real = real_numbers(build, data, node.input(1), node.optional(2))
        result = function(node, build, real)
        return stored_numbers(build, result, node.input(3), node.optional(4), dtype_of(data))

    return translate


def _of_two(operator: str) -> Translator:
    """A, its scale and zero point, B and its own, those of the result."""

    def translate(node: OnnxNode, build: Builder) -> Expr:
        left = real_numbers(build, node.input(0), node.input(1), node.optional(2))
        right = real_numbers(build, node.input(3), node.input(4), node.optional(5))
        result = build.call(operator, left, right)
        return stored_numbers(
            build, result, node.input(6), node.optional(7), dtype_of(node.input(0))
        )

    return translate


def _standard_of(translate: Translator, operator: str) -> Function:
    """An operator of ONNX on the numbers that are stored."""

    def apply(node: OnnxNode, build: Builder, data: Expr) -> Expr:
        inner = replace(standard(node, data), operator=operator)
        if operator == "Softmax":
            inner = replace(inner, opset=node.integer("opset"))
        result = translate(inner, build)
        assert isinstance(result, Expr)
        return result

    return apply


def _in_its_layout(translate: Translator) -> Translator:
    """An operator on images, whose channels are last where an attribute says so."""

    def apply(node: OnnxNode, build: Builder) -> Expr:
        if not node.flag("channels_last", 0):
            result = translate(node, build)
            assert isinstance(result, Expr)
            return result
        first = channels_first(build, node.input(0))
        result = translate(replace(node, inputs=(first, *node.inputs[1:])), build)
        assert isinstance(result, Expr)
        return channels_last(build, result)

    return apply


def translate_concat(node: OnnxNode, build: Builder) -> Expr:
    """Tensors of different scales one after another."""
    given = node.inputs[2:]
    if not given or len(given) % 3:
        raise ModelError("each tensor needs a scale and a zero point.")
    indices = range(2, len(node.inputs), 3)
    parts = [
        real_numbers(build, node.input(index), node.input(index + 1), node.optional(index + 2))
        for index in indices
    ]
    axis = checked_axis(node.integer("axis"), rank_of(parts[0]))
    joined = build.call("concatenate", build.tuple_of(parts), axis=axis)
    return stored_numbers(build, joined, node.input(0), node.optional(1), dtype_of(node.input(2)))


def _transposed(build: Builder, matrix: Expr, is_transposed: bool) -> Expr:
    return build.call("transpose", matrix, axes=(1, 0)) if is_transposed else matrix


def translate_gemm(node: OnnxNode, build: Builder) -> Expr:
    """alpha (A B + C), as float32 or quantized again."""
    scale, of_right = node.input(1), node.input(4)
    left = _transposed(build, node.input(0), node.flag("transA", 0))
    left = real_numbers(build, left, scale, node.optional(2))
    is_transposed = node.flag("transB", 0)
    right = real_numbers(
        build, node.input(3), of_right, node.optional(5), 0 if is_transposed else 1
    )
    real = build.call("nn.matmul", left, right, transpose_b=is_transposed)
    bias = node.optional(6)
    if bias is not None:
        real = build.call("add", real, real_bias(build, bias, (scale, of_right)))
    real = scaled(build, real, node.number("alpha", 1.0))
    scale_of_result, zero = node.optional(7), node.optional(8)
    if scale_of_result is None:
        return real
    dtype = dtype_of(node.input(0)) if zero is None else dtype_of(zero)
    return stored_numbers(build, real, scale_of_result, zero, dtype)


def _columns(build: Builder, scale: Expr) -> Expr:
    """One scale for all columns, or one for each."""
    return along_axis(build, scale, 1, 0) if rank_of(scale) <= 1 else scale


def translate_matmul_integer_to_float(node: OnnxNode, build: Builder) -> Expr:
    """A product of quantized matrices, summed in int32, times its scales, and a bias."""
    total = integer_product(build, node.input(0), node.optional(4), node.input(1), node.optional(5))
    scales = build.call("multiply", *(_columns(build, node.input(index)) for index in (2, 3)))
    real = build.call("multiply", cast_to(build, total, dtype_of(scales)), scales)
    return sum_of(build, real, node.optional(6))


def translate_dynamic_quantize_matmul(node: OnnxNode, build: Builder) -> Expr:
    """A product of a tensor that is quantized when it comes and a quantized matrix."""
    data, scale, zero = translate_dynamic_quantize(replace(node, inputs=(node.input(0),)), build)
    inputs = (data, node.input(1), scale, node.input(2), zero, node.optional(3), node.optional(4))
    return translate_matmul_integer_to_float(replace(node, inputs=inputs), build)


def translate_attention(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Self-attention whose projections are a product of quantized matrices."""
    if node.flag("do_rotary", 0) or node.flag("past_present_share_buffer", 0):
        raise UnsupportedOperatorError(
            "QAttention with do_rotary or past_present_share_buffer is not supported."
        )
    data, weights, scale, of_weights = (node.input(index) for index in (0, 1, 3, 4))
    zeros = (node.optional(6), node.optional(7))
    product = (data, weights, scale, of_weights, *zeros, node.input(2))
    projected = translate_matmul_integer_to_float(replace(node, inputs=product), build)
    return attended(node, build, projected, (node.optional(5), node.optional(8), None))


def translate_lstm(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """An LSTM whose weights are stored as integers, [directions, inputs, 4 * hidden].

    Data keep their digits: onnxruntime rounds the input, and each state, to bytes.
    """
    given = [node.optional(position) for position in range(12)]
    weights = [
        _real_gates(build, node.input(position), *given[first : first + 2])
        for position, first in ((1, 8), (2, 10))
    ]
    inner = replace(standard(node, given[0], *weights, *given[3:8]), operator="LSTM")
    return translate_recurrent(inner, build)


def _real_gates(build: Builder, data: Expr, scale: Expr | None, zero: Expr | None) -> Expr:
    """Weights of gates as floats, [directions, 4 * hidden, inputs]."""
    if scale is None:
        raise ModelError("the weights have no scale.")
    wide, *parameters = (
        cast_to(build, each, "float32") for each in (data, scale, zero) if each is not None
    )
    factor, *offset = (_of_gates(build, each) for each in parameters)
    for each in offset:
        wide = build.call("subtract", wide, each)
    return build.call("transpose", build.call("multiply", wide, factor), axes=(0, 2, 1))


def _of_gates(build: Builder, parameter: Expr) -> Expr:
    """One number a direction, or one for each of its columns, beside weights of three axes."""
    if rank_of(parameter) < 2:
        parameter = build.call("reshape", parameter, newshape=(-1, 1))
    return build.call("expand_dims", parameter, axis=1)


def translate_where(node: OnnxNode, build: Builder) -> Expr:
    """Numbers of one tensor or another, quantized again."""
    left = real_numbers(build, node.input(1), node.input(2), node.optional(3))
    right = real_numbers(build, node.input(4), node.input(5), node.optional(6))
    chosen = build.call("where", node.input(0), left, right)
    return stored_numbers(build, chosen, node.input(7), node.optional(8), dtype_of(node.input(1)))


def translate_embed_layer_normalization(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Embeddings, and what they are normalised with, that are stored as integers."""

    def real(data: Expr, position: int) -> Expr:
        return real_numbers(build, data, node.input(position + 6), node.optional(position + 11))

    def rows(table: int, indices: Expr) -> Expr:
        return real(build.call("take", node.input(table), indices, axis=0), table)

    gamma, beta = (real(node.input(position), position) for position in (5, 6))
    return embedded(node, build, rows, (gamma, beta), None)[:2]


QUANTIZED: Mapping[str, Translator] = {
    "QuantizeLinear": as_standard(translate_quantize),
    "DequantizeLinear": as_standard(translate_dequantize),
    "QLinearAdd": _of_two("add"),
    "QLinearMul": _of_two("multiply"),
    "QLinearSigmoid": _of_one(lambda node, build, data: build.call("sigmoid", data)),
    "QLinearLeakyRelu": _of_one(
        lambda node, build, data: leaky_relu(build, data, node.number("alpha", 0.01))
    ),
    "QLinearAveragePool": _in_its_layout(
        _of_one(_standard_of(POOLS["AveragePool"], "AveragePool"))
    ),
    "QLinearConv": _in_its_layout(as_standard(translate_qlinear_conv)),
    "QLinearGlobalAveragePool": _in_its_layout(
        _of_one(_standard_of(POOLS["GlobalAveragePool"], "GlobalAveragePool"))
    ),
    "QLinearSoftmax": _of_one(_standard_of(REDUCTIONS["Softmax"], "Softmax")),
    "QLinearConcat": translate_concat,
    "QGemm": translate_gemm,
    "QLinearWhere": translate_where,
    "QAttention": translate_attention,
    "QEmbedLayerNormalization": translate_embed_layer_normalization,
    "MatMulIntegerToFloat": translate_matmul_integer_to_float,
    "DynamicQuantizeLSTM": translate_lstm,
    "DynamicQuantizeMatMul": translate_dynamic_quantize_matmul,
}
