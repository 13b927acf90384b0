"""Fusions of onnxruntime's optimizers: products, activations, normalisations, embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from onnx import helper

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import positions
from relay_tune.frontend.onnx_import.operators.activation import (
    hard_sigmoid,
    leaky_relu,
    relu,
    scaled,
    translate_gelu,
)
from relay_tune.frontend.onnx_import.operators.convolution import translate_conv
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product, translate_gemm
from relay_tune.frontend.onnx_import.operators.normalization import (
    translate_layer_normalization,
    translate_rms_normalization,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import in_wide
from relay_tune.ir.expr import Expr

STANDARD_OPSET = 21
"""The version of ONNX's operators that operators here are made of."""


def standard(node: OnnxNode, *inputs: Expr | None, **attributes: object) -> OnnxNode:
    """A node of ONNX's own operator set with other inputs and some more attributes."""
    given = {name: helper.make_attribute(name, value) for name, value in attributes.items()}
    return replace(
        node, opset=STANDARD_OPSET, inputs=inputs, attributes={**node.attributes, **given}
    )


def as_standard(translate: Translator) -> Translator:
    """An operator that ONNX has with the same arguments."""
    return lambda node, build: translate(standard(node, *node.inputs), build)


def sum_of(build: Builder, *parts: Expr | None) -> Expr:
    """The sum of what is there."""
    given = [part for part in parts if part is not None]
    return reduce(lambda left, right: build.call("add", left, right), given)


def translate_fused_matmul(node: OnnxNode, build: Builder) -> Expr:
    """alpha A B, where the axes of A and B may be moved.

    First, with transBatch, the first axis behind the other axes of the batch; then, with trans, the
    last two are exchanged.
    """
    factors = []
    for index, name in enumerate(("A", "B")):
        factor, rank = node.input(index), rank_of(node.input(index))
        order = tuple(range(rank))
        if node.flag(f"transBatch{name}", 0) and rank > 2:
            order = (*order[1:-1], 0, rank - 1)
        if node.flag(f"trans{name}", 0) and rank > 1:
            order = (*order[:-2], order[-1], order[-2])
        moved = order != tuple(range(rank))
        factors.append(build.call("transpose", factor, axes=order) if moved else factor)
    return scaled(build, matrix_product(build, factors[0], factors[1]), node.number("alpha", 1.0))


def _gelu(approximate: str) -> Callable[[OnnxNode, Builder], Expr]:
    def translate(node: OnnxNode, build: Builder) -> Expr:
        data = sum_of(build, node.input(0), node.optional(1))
        return translate_gelu(standard(node, data, approximate=approximate), build)

    return translate


def translate_quick_gelu(node: OnnxNode, build: Builder) -> Expr:
    """x sigmoid(alpha x)."""
    data = node.input(0)
    factor = scaled(build, data, node.number("alpha", 1.702))
    return build.call("multiply", data, build.call("sigmoid", factor))


def translate_bias_add(node: OnnxNode, build: Builder) -> Expr:
    """The sum of all inputs."""
    return sum_of(build, *node.all_inputs())


def translate_skip_layer_normalization(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Layer normalisation of a sum, and the sum."""
    total = sum_of(build, node.input(0), node.input(1), node.optional(4))
    inner = standard(
        replace(node, wanted=node.wanted[:3]),
        *(total, node.input(2), node.optional(3)),
        epsilon=node.number("epsilon", 1e-12),
    )
    return [*_padded(translate_layer_normalization(inner, build), 3), total]


def _padded(results: list[Expr | None], count: int) -> list[Expr | None]:
    return results + [None] * (count - len(results))


def translate_skip_rms_normalization(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The sum of the inputs divided by its root mean square, and the sum."""
    total = sum_of(build, node.input(0), node.input(1), node.optional(3))
    if node.wants(1) or node.wants(2):
        raise UnsupportedOperatorError("the statistics of the normalization are not supported.")
    inner = standard(node, total, node.input(2), epsilon=node.number("epsilon", 1e-12))
    return [in_wide(translate_rms_normalization)(inner, build), None, None, total]


def translate_embed_layer_normalization(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Embeddings of words, positions and segments, summed and normalised; how many words count."""

    def rows(table: int, indices: Expr) -> Expr:
        return build.call("take", node.input(table), indices, axis=0)

    return embedded(node, build, rows, (node.input(5), node.input(6)), node.optional(8))


def embedded(
    node: OnnxNode,
    build: Builder,
    rows: Callable[[int, Expr], Expr],
    scales: tuple[Expr, Expr],
    position_ids: Expr | None,
) -> list[Expr | None]:
    """The same of rows that inputs 2, 3 and 4 have at indices, normalised with gamma and beta."""
    words, segments = node.input(0), node.optional(1)
    indices = positions(build, words, 1) if position_ids is None else position_ids
    parts: list[Expr | None] = [rows(2, words), rows(3, indices)]
    if segments is not None:
        parts.append(rows(4, segments))
    total = sum_of(build, *parts)
    inner = standard(
        replace(node, wanted=(True,)), total, *scales, epsilon=node.number("epsilon", 1e-12)
    )
    return [translate_layer_normalization(inner, build)[0], _mask_index(node, build), total]


def _mask_index(node: OnnxNode, build: Builder) -> Expr | None:
    """How many words of each of the batch count; 0 without a mask."""
    if not node.wants(1):
        return None
    mask = node.optional(7)
    kept = build.call("zeros_like", node.input(0)) if mask is None else mask
    return cast_to(build, build.call("sum", kept, axis=(1,)), "int32")


def _activated(node: OnnxNode, build: Builder, data: Expr, parameters: tuple[float, ...]) -> Expr:
    """The activation that a fused node names."""
    match node.text("activation", "") or None:
        case None:
            return data
        case "Relu":
            return relu(build, data)
        case "Tanh" | "Sigmoid" as name:
            return build.call(name.lower(), data)
        case "LeakyRelu":
            return leaky_relu(build, data, parameters[0] if parameters else 0.01)
        case "HardSigmoid":
            alpha, beta = parameters or (0.2, 0.5)
            return hard_sigmoid(build, data, alpha, beta)
        case "Clip":
            low, high = parameters
            return build.call("clip", data, a_min=low, a_max=high)
        case name:
            raise UnsupportedOperatorError(f"the activation {name} is not supported.")


def translate_fused_conv(node: OnnxNode, build: Builder) -> Expr:
    """A convolution, a tensor that is added, and an activation."""
    result = translate_conv(standard(node, *node.inputs[:3]), build)
    result = sum_of(build, result, node.optional(3))
    return _activated(node, build, result, node.numbers("activation_params", ()))


def translate_fused_gemm(node: OnnxNode, build: Builder) -> Expr:
    """alpha A B + beta C with an activation."""
    result = translate_gemm(standard(node, *node.inputs), build)
    names = ("activation_alpha", "activation_beta")
    parameters = tuple(node.number(name) for name in names if node.has(name))
    return _activated(node, build, result, parameters)


FUSIONS: Mapping[str, Translator] = {
    "FusedMatMul": translate_fused_matmul,
    "TransposeMatMul": translate_fused_matmul,
    "FusedConv": translate_fused_conv,
    "FusedGemm": translate_fused_gemm,
    "Gelu": in_wide(_gelu("none")),
    "BiasGelu": in_wide(_gelu("none")),
    "FastGelu": in_wide(_gelu("tanh")),
    "QuickGelu": in_wide(translate_quick_gelu),
    "BiasAdd": translate_bias_add,
    "SkipLayerNormalization": translate_skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": translate_skip_rms_normalization,
    "EmbedLayerNormalization": translate_embed_layer_normalization,
}
