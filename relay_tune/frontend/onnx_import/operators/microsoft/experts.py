"""Mixtures of experts: each row of data goes through the perceptrons that a router chooses.

The rows of one expert are gathered, so that each expert computes its own rows and reads its
weights only if it has some.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import (
    relu,
    scaled,
    shifted,
    translate_gelu,
)
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.microsoft.expert_layers import (
    ExpertLayer,
    float_layer,
    quantized_layer,
)
from relay_tune.frontend.onnx_import.operators.microsoft.fused import standard
from relay_tune.frontend.onnx_import.operators.microsoft.heads import COPY
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.reshape import reshape_like_source
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

NOT_FUSED, INTERLEAVED, BESIDE = 0, 1, 2
"""Codes of swiglu_fusion: the gate and what it gates are two layers, or columns of one."""


@dataclass(frozen=True)
class Layers:
    """The layers of the experts; `linear` is what the first one gates, if it is one of its own."""

    first: ExpertLayer
    last: ExpertLayer
    linear: ExpertLayer | None


@dataclass(frozen=True)
class Routes:
    """For each row of the data, the experts that it goes through and their shares, [rows, k]."""

    experts: Expr
    shares: Expr


def translate_experts(node: OnnxNode, build: Builder) -> Expr:
    """Experts whose weights are floats."""
    layers = _layers(*(float_layer(node, index) for index in (2, 4, 6)))
    return _mixture(node, build, layers, None)


def translate_quantized_experts(node: OnnxNode, build: Builder) -> Expr:
    """Experts whose weights are integers of few bits."""
    if node.text("quant_type", "int") != "int" or node.integer("weights_prepacked", -1) > 0:
        raise UnsupportedOperatorError("experts of floats of few bits, or packed, are refused.")
    inputs = ((2, 11, "fc1"), (5, 12, "fc2"), (8, 13, "fc3"))
    layers = _layers(*(quantized_layer(node, *each) for each in inputs))
    return _mixture(node, build, layers, node.optional(14))


def _layers(
    first: ExpertLayer | None, last: ExpertLayer | None, linear: ExpertLayer | None
) -> Layers:
    if first is None or last is None:
        raise ModelError("weights of the experts are missing.")
    return Layers(first, last, linear)


def _mixture(node: OnnxNode, build: Builder, layers: Layers, shares: Expr | None) -> Expr:
    """The sum of what the experts of each row give, by their shares."""
    if node.flag("use_sparse_mixer", 0) or node.flag("swiglu_limit_after_activation", 0):
        raise UnsupportedOperatorError(
            "use_sparse_mixer and swiglu_limit_after_activation are not supported."
        )
    data, router = node.input(0), node.input(1)
    width = static_dim(shape_of(data)[-1])
    rows = build.call("reshape", data, newshape=(-1, width)) if rank_of(data) != 2 else data
    routes = _routes(node, build, router, shares)
    total = build.call("zeros_like", rows)
    for expert in range(static_dim(shape_of(router)[-1])):
        total = _with_expert(node, build, (rows, total), routes, layers, expert)
    return total if rank_of(data) == 2 else reshape_like_source(build, total, data)


def _routes(node: OnnxNode, build: Builder, router: Expr, given: Expr | None) -> Routes:
    """The k experts with the largest scores, and their shares of the result.

    Shares are given for all experts, or the softmax of the scores; what is normalised adds up to 1.
    """
    scores = build.call("nn.softmax", cast_to(build, router, "float32"), axis=-1)
    options = {"axis": -1, "ret_type": "both", "is_ascend": False, "dtype": "int64"}
    ranked = scores if given is None else cast_to(build, router, "float32")
    found = build.call("topk", ranked, k=node.integer("k", 1), **options)
    shares, experts = build.item(found, 0), build.item(found, 1)
    if given is not None:
        shares = build.call("gather", cast_to(build, given, "float32"), experts, axis=1)
    if node.flag("normalize_routing_weights", 0):
        total = build.call("sum", shares, axis=(1,), keepdims=True)
        shares = build.call("divide", shares, total)
    return Routes(experts, shares)


def _with_expert(
    node: OnnxNode,
    build: Builder,
    rows: tuple[Expr, Expr],
    routes: Routes,
    layers: Layers,
    expert: int,
) -> Expr:
    """The results of all rows with what one expert adds to those that go through it."""
    data, total = rows
    is_own = build.call("equal", routes.experts, build.like(expert, routes.experts))
    found = build.call("argwhere", is_own)  # [n, 2]: rows, and where among its experts
    row = build.call("take", found, build.constant(0), axis=1, mode="clip")
    own = build.call("take", data, row, axis=0, mode="clip")
    share = build.call(
        "gather_nd", routes.shares, build.call("transpose", found), batch_dims=0, index_rank=2
    )
    share = cast_to(build, build.call("expand_dims", share, axis=1), dtype_of(data))
    result = build.call("multiply", _perceptron(node, build, own, layers, expert), share)
    where = build.call("expand_dims", row, axis=0)
    return build.call("scatter_nd", total, where, result, mode="add")


def _perceptron(node: OnnxNode, build: Builder, data: Expr, layers: Layers, expert: int) -> Expr:
    hidden = layers.first.outputs(build, data, expert)
    kind = node.text("activation_type", "relu")
    linear = None if layers.linear is None else layers.linear.outputs(build, data, expert)
    if kind == "swiglu":
        hidden = _gated(node, build, hidden, linear)
    else:
        hidden = _activated(node, build, hidden, kind)
        hidden = hidden if linear is None else build.call("multiply", hidden, linear)
    return layers.last.outputs(build, hidden, expert)


def _activated(node: OnnxNode, build: Builder, data: Expr, kind: str) -> Expr:
    match kind:
        case "identity":
            return data
        case "relu":
            return relu(build, data)
        case "silu":
            return build.call("multiply", data, build.call("sigmoid", data))
        case "gelu":
            return translate_gelu(standard(node, data, approximate="tanh"), build)
        case _:
            raise UnsupportedOperatorError(f"experts with the activation {kind} are not supported.")


def _gated(node: OnnxNode, build: Builder, gate: Expr, linear: Expr | None) -> Expr:
    """g sigmoid(alpha g) (l + beta), with g below a limit and l within it."""
    if linear is None:
        gate, linear = _halves(node, build, gate)
    limit = node.number("swiglu_limit", inf)
    if limit < inf:
        gate = build.call("minimum", gate, build.like(limit, gate))
        linear = build.call("clip", linear, a_min=-limit, a_max=limit)
    alpha, beta = node.number("activation_alpha", 1.0), node.number("activation_beta", 0.0)
    factor = build.call("sigmoid", scaled(build, gate, alpha))
    return build.call(
        "multiply", build.call("multiply", gate, factor), shifted(build, linear, beta)
    )


def _halves(node: OnnxNode, build: Builder, both: Expr) -> tuple[Expr, Expr]:
    """The gate and what it gates, columns of one layer."""
    width = static_dim(shape_of(both)[1])
    match node.integer("swiglu_fusion", NOT_FUSED):
        case _ if width % 2:
            raise ModelError(f"{width} columns of a gated layer cannot be halved.")
        case fusion if fusion == INTERLEAVED:
            pairs = build.call("reshape", both, newshape=(COPY, width // 2, 2))
            gate, linear = (
                build.call("take", pairs, build.constant(index), axis=2, mode="clip")
                for index in (0, 1)
            )
        case fusion if fusion == BESIDE:
            gate, linear = (
                part(build, both, 1, 0, width // 2),
                part(build, both, 1, width // 2, width),
            )
        case _:
            raise ModelError("the layer that the gate multiplies is missing.")
    return gate, linear


EXPERTS: Mapping[str, Translator] = {
    "MoE": translate_experts,
    "QMoE": translate_quantized_experts,
}
