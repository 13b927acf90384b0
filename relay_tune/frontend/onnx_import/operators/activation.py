"""Activation functions of ONNX, as compositions of elementary operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import pi, sqrt

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.types import is_float
from relay_tune.ir.expr import Expr

SELU_ALPHA = 1.67326319217681884765625
SELU_GAMMA = 1.05070102214813232421875


def scaled(build: Builder, data: Expr, factor: float) -> Expr:
    """`factor * data`."""
    return data if factor == 1 else build.call("multiply", data, build.like(factor, data))


def shifted(build: Builder, data: Expr, offset: float) -> Expr:
    """`data + offset`."""
    return data if offset == 0 else build.call("add", data, build.like(offset, data))


def relu(build: Builder, data: Expr) -> Expr:
    """max(x, 0)."""
    if is_float(dtype_of(data)):
        return build.call("nn.relu", data)
    return build.call("maximum", data, build.like(0, data))


def negative_part(build: Builder, data: Expr, other: Expr) -> Expr:
    """`other` where x < 0, x elsewhere."""
    return build.call("where", build.call("less", data, build.like(0, data)), other, data)


def elu(build: Builder, data: Expr, alpha: float) -> Expr:
    """x, or alpha (exp(x) - 1) where x < 0."""
    return negative_part(build, data, scaled(build, _exp_minus_one(build, data), alpha))


def selu(build: Builder, data: Expr, alpha: float, gamma: float) -> Expr:
    """gamma * elu(x)."""
    return scaled(build, elu(build, data, alpha), gamma)


def celu(build: Builder, data: Expr, alpha: float) -> Expr:
    """x, or alpha (exp(x / alpha) - 1) where x < 0."""
    if alpha == 0:
        raise ModelError("attribute alpha must not be 0.")
    quotient = build.call("divide", data, build.like(alpha, data))
    return negative_part(build, data, scaled(build, _exp_minus_one(build, quotient), alpha))


def hard_sigmoid(build: Builder, data: Expr, alpha: float, beta: float) -> Expr:
    """alpha * x + beta, limited to [0, 1]."""
    line = shifted(build, scaled(build, data, alpha), beta)
    above = build.call("maximum", line, build.like(0, data))
    return build.call("minimum", above, build.like(1, data))


def softplus(build: Builder, data: Expr) -> Expr:
    """log(1 + exp(x)), written so that exp does not overflow."""
    decay = build.call("exp", build.call("negative", build.call("abs", data)))
    tail = build.call("log1p", decay)
    return build.call("add", relu(build, data), tail)


def softsign(build: Builder, data: Expr) -> Expr:
    """x / (1 + |x|)."""
    return build.call("divide", data, shifted(build, build.call("abs", data), 1))


def leaky_relu(build: Builder, data: Expr, alpha: float) -> Expr:
    """x, or alpha x where x < 0."""
    return build.call("nn.leaky_relu", data, alpha=alpha)


def thresholded_relu(build: Builder, data: Expr, alpha: float) -> Expr:
    """x where x > alpha, 0 elsewhere."""
    above = build.call("greater", data, build.like(alpha, data))
    return build.call("where", above, data, build.like(0, data))


def _exp_minus_one(build: Builder, data: Expr) -> Expr:
    return shifted(build, build.call("exp", data), -1)


def translate_gelu(node: OnnxNode, build: Builder) -> Expr:
    """x Phi(x), exact or with tanh."""
    data = node.input(0)
    approximate = node.text("approximate", "none")
    if approximate == "none":
        phi = build.call("erf", scaled(build, data, 1 / sqrt(2)))
    elif approximate == "tanh":
        cube = build.call("multiply", data, build.call("multiply", data, data))
        inner = build.call("add", data, scaled(build, cube, 0.044715))
        phi = build.call("tanh", scaled(build, inner, sqrt(2 / pi)))
    else:
        raise ModelError(f"attribute approximate must be none or tanh, not {approximate!r}.")
    return build.call("multiply", scaled(build, data, 0.5), shifted(build, phi, 1))


def translate_prelu(node: OnnxNode, build: Builder) -> Expr:
    """x, or slope * x where x < 0."""
    data, slope = node.input(0), node.input(1)
    if node.opset < 7 and rank_of(slope) == 1 and rank_of(data) > 2:
        slope = build.call("expand_dims", slope, axis=1, num_newaxis=rank_of(data) - 2)
    return negative_part(build, data, build.call("multiply", data, slope))


def translate_hard_swish(node: OnnxNode, build: Builder) -> Expr:
    """x * hard_sigmoid(x)."""
    data = node.input(0)
    return build.call("multiply", data, hard_sigmoid(build, data, 1 / 6, 0.5))


def translate_mish(node: OnnxNode, build: Builder) -> Expr:
    """x tanh(softplus(x))."""
    data = node.input(0)
    return build.call("multiply", data, build.call("tanh", softplus(build, data)))


def translate_swish(node: OnnxNode, build: Builder) -> Expr:
    """x sigmoid(alpha x)."""
    data = node.input(0)
    gate = build.call("sigmoid", scaled(build, data, node.number("alpha", 1.0)))
    return build.call("multiply", data, gate)


def translate_shrink(node: OnnxNode, build: Builder) -> Expr:
    """x + bias below -lambd, x - bias above lambd, 0 between; integers are rounded towards zero."""
    data = node.input(0)
    if not is_float(dtype_of(data)):
        wide = cast_to(build, data, "float64")
        result = translate_shrink(replace(node, inputs=(wide,)), build)
        return cast_to(build, result, dtype_of(data))
    limit, bias = node.number("lambd", 0.5), node.number("bias", 0.0)
    below = build.call("less", data, build.like(-limit, data))
    above = build.call("greater", data, build.like(limit, data))
    inner = build.call("where", above, shifted(build, data, -bias), build.like(0, data))
    return build.call("where", below, shifted(build, data, bias), inner)


def _plain(function: Callable[[Builder, Expr], Expr]) -> Translator:
    return lambda node, build: function(build, node.input(0))


def _with_alpha(function: Callable[[Builder, Expr, float], Expr], default: float) -> Translator:
    return lambda node, build: function(build, node.input(0), node.number("alpha", default))


def _in_single_precision(translate: Translator) -> Translator:
    """Half-precision inputs are computed in float32, so that the result is rounded once."""

    def wide(node: OnnxNode, build: Builder) -> Expr | Sequence[Expr | None]:
        dtype = dtype_of(node.input(0))
        if dtype not in ("float16", "bfloat16"):
            return translate(node, build)
        inputs = tuple(each and cast_to(build, each, "float32") for each in node.inputs)
        result = translate(replace(node, inputs=inputs), build)
        return cast_to(build, result, dtype) if isinstance(result, Expr) else result

    return wide


_TRANSLATORS: Mapping[str, Translator] = {
    "Relu": _plain(relu),
    "Softplus": _plain(softplus),
    "Softsign": _plain(softsign),
    "LeakyRelu": _with_alpha(leaky_relu, 0.01),
    "Elu": _with_alpha(elu, 1.0),
    "Celu": _with_alpha(celu, 1.0),
    "ThresholdedRelu": _with_alpha(thresholded_relu, 1.0),
    "Selu": lambda node, build: selu(
        build, node.input(0), node.number("alpha", SELU_ALPHA), node.number("gamma", SELU_GAMMA)
    ),
    "HardSigmoid": lambda node, build: hard_sigmoid(
        build, node.input(0), node.number("alpha", 0.2), node.number("beta", 0.5)
    ),
    "Gelu": translate_gelu,
    "PRelu": translate_prelu,
    "HardSwish": translate_hard_swish,
    "Mish": translate_mish,
    "Swish": translate_swish,
    "Shrink": translate_shrink,
}

ACTIVATIONS: Mapping[str, Translator] = {
    name: _in_single_precision(translate) for name, translate in _TRANSLATORS.items()
}
