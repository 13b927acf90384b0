"""Adjoints of activations, biases and softmax; the slope of nn.relu at zero is zero."""

from __future__ import annotations

import math

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import minus, number, plus, product
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, tensor_type
from relay_tune.op_rules.typed import call

CUBIC = 0.044715
"""Of the approximation of nn.gelu by tanh (Hendrycks and Gimpel, 2016)."""


def _positive(value: Expr) -> Expr:
    return call("greater", value, number(0.0, value))


def _relu(known: Differentiated) -> tuple[Adjoint]:
    chosen = call("where", _positive(known.result), known.tensor, number(0.0, known.tensor))
    return (chosen,)


def _leaky_relu(known: Differentiated) -> tuple[Adjoint]:
    (data,) = known.call.arguments
    slope = number(attributes_of(known.call).alpha, data)
    return (call("where", _positive(data), known.tensor, product(known.tensor, slope)),)


def _prelu(known: Differentiated) -> tuple[Adjoint, Adjoint]:
    data, alpha = known.call.arguments
    type_ = tensor_type(data)
    assert type_ is not None
    rank = len(type_.shape)
    axis = attributes_of(known.call).axis % rank
    slopes = alpha
    if rank - 1 - axis:
        slopes = call("expand_dims", alpha, axis=1, num_newaxis=rank - 1 - axis)
    positive = _positive(data)
    first = call("where", positive, known.tensor, product(known.tensor, slopes))
    each = call("where", positive, number(0.0, data), product(known.tensor, data))
    return first, call("sum", each, axis=(axis,), exclude=True)


def _exact_gelu(x: Expr) -> Expr:
    """P(x) + x p(x), with the normal distribution and its density."""
    inner = call("erf", product(x, number(math.sqrt(0.5), x)))
    share = product(plus(inner, number(1.0, x)), number(0.5, x))
    bell = call("exp", product(product(x, x), number(-0.5, x)))
    return plus(share, product(product(x, bell), number(1.0 / math.sqrt(2.0 * math.pi), x)))


def _tanh_gelu(x: Expr) -> Expr:
    """(1 + t) / 2 + x (1 - t^2) u' / 2 with t = tanh(u), u = sqrt(2 / pi) (x + c x^3)."""
    factor = math.sqrt(2.0 / math.pi)
    square = product(x, x)
    cubed = product(square, number(factor * CUBIC, x))
    t = call("tanh", product(x, plus(cubed, number(factor, x))))
    inner = plus(product(square, number(3.0 * factor * CUBIC, x)), number(factor, x))
    slope = product(minus(number(1.0, x), product(t, t)), product(inner, x))
    return product(plus(plus(t, slope), number(1.0, x)), number(0.5, x))


def _gelu(known: Differentiated) -> tuple[Adjoint]:
    (data,) = known.call.arguments
    exact = attributes_of(known.call).approximate != "tanh"
    slope = _exact_gelu(data) if exact else _tanh_gelu(data)
    return (product(known.tensor, slope),)


def _bias_add(known: Differentiated) -> tuple[Adjoint, Adjoint]:
    axis = attributes_of(known.call).axis
    return known.tensor, call("sum", known.tensor, axis=(axis,), exclude=True)


def _softmax(known: Differentiated) -> tuple[Adjoint]:
    """y (y' - sum(y y'))."""
    axis = attributes_of(known.call).axis
    total = call("sum", product(known.tensor, known.result), axis=(axis,), keepdims=True)
    return (product(minus(known.tensor, total), known.result),)


def _log_softmax(known: Differentiated) -> tuple[Adjoint]:
    """y' - exp(y) sum(y')."""
    axis = attributes_of(known.call).axis
    total = call("sum", known.tensor, axis=(axis,), keepdims=True)
    return (minus(known.tensor, product(call("exp", known.result), total)),)


RULES: GradientRules = {
    "nn.relu": GradientRule(_relu),
    "nn.leaky_relu": GradientRule(_leaky_relu),
    "nn.prelu": GradientRule(_prelu),
    "nn.gelu": GradientRule(_gelu),
    "nn.bias_add": GradientRule(_bias_add),
    "nn.softmax": GradientRule(_softmax),
    "nn.log_softmax": GradientRule(_log_softmax),
}
