"""What stands around recurrences of linear attention: gates, and norms of their results."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import softplus
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.microsoft.fused import standard
from relay_tune.frontend.onnx_import.operators.normalization import translate_rms_normalization
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import in_wide, widened_input
from relay_tune.ir.expr import Expr


def translate_gates(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """decay_scale softplus(a + dt_bias), and sigmoid(b)."""
    given, rate = node.input(0), node.optional(3)
    total = build.call("add", widened_input(build, given), node.input(1))
    decay = build.call("multiply", softplus(build, total), node.input(2))
    results: list[Expr | None] = [cast_to(build, decay, dtype_of(given))]
    if rate is not None:
        share = build.call("sigmoid", widened_input(build, rate))
        results.append(cast_to(build, share, dtype_of(rate)))
    elif node.wants(1):
        raise ModelError("the output beta has an input b.")
    return results


def rms_normed(build: Builder, node: OnnxNode, data: Expr, scale: Expr, epsilon: float) -> Expr:
    """The last axis divided by its root mean square, times a scale."""
    inner = standard(node, data, scale, epsilon=epsilon, axis=-1)
    return in_wide(translate_rms_normalization)(inner, build)


def _gated_rms_norm(node: OnnxNode, build: Builder) -> Expr:
    """Groups of the last axis divided by their root mean square, times scale and gate."""
    data, scale, gate = node.input(0), node.input(1), node.input(2)
    name = node.text("activation", "silu")
    if name not in ("silu", "swish", "sigmoid"):
        raise ModelError(f"attribute activation has the unknown value {name!r}.")
    width, size = static_dim(shape_of(data)[-1]), static_dim(shape_of(scale)[0])
    if size < 1 or width % size:
        raise ModelError(f"a width of {width} is not one of groups of {size}.")
    kept = (0,) * (rank_of(data) - 1)
    groups = build.call("reshape", data, newshape=(*kept, width // size, size))
    normed = rms_normed(build, node, groups, scale, node.number("epsilon", 1e-5))
    normed = build.call("reshape", normed, newshape=(*kept, width))
    factor = build.call("sigmoid", gate)
    if name != "sigmoid":
        factor = build.call("multiply", gate, factor)
    return build.call("multiply", normed, factor)


GATES: Mapping[str, Translator] = {
    "LinearAttentionGate": translate_gates,
    "GatedRMSNorm": in_wide(_gated_rms_norm),
}
