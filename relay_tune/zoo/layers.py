"""The layers that the networks are built of; every layer draws its weights when it is called."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Function, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.nn.activation import relu
from relay_tune.op.nn.batch_norm import batch_norm as batch_norm_operator
from relay_tune.op.nn.bias import batch_flatten, bias_add
from relay_tune.op.nn.convolution import conv2d
from relay_tune.op.nn.global_pool import global_avg_pool2d
from relay_tune.op.nn.matmul import dense as dense_operator
from relay_tune.op.nn.normalization import layer_norm as layer_norm_operator
from relay_tune.op.selection import clip
from relay_tune.zoo.weights import Weights


def image_input(batch: int, channels: int, size: int) -> Var:
    """The input `data`: square images [batch, channels, size, size], float32."""
    return Var("data", TensorType((batch, channels, size, size), "float32"))


def network(params: tuple[Var, ...], body: Expr) -> Module:
    """A module whose `main` computes `body`."""
    return Module.from_function(Function(params, body))


def conv(
    weights: Weights,
    data: Expr,
    channels: tuple[int, int],
    kernel: int,
    *,
    stride: int = 1,
    padding: int | None = None,
    groups: int = 1,
    gain: float = 2.0,
) -> Expr:
    """A square convolution of (input, output) channels; the padding keeps the size by default."""
    inputs, outputs = channels
    shape = (outputs, inputs // groups, kernel, kernel)
    pad = kernel // 2 if padding is None else padding
    return conv2d(
        data,
        weights.he(shape, inputs // groups * kernel * kernel, gain),
        strides=(stride, stride),
        padding=(pad, pad),
        groups=groups,
        channels=outputs,
        kernel_size=(kernel, kernel),
    )


def batch_norm(weights: Weights, data: Expr, channels: int, gain: float = 1.0) -> Expr:
    """Batch normalisation with collected statistics, at inference."""
    scale = weights.normalization(channels, gain)
    call = batch_norm_operator(data, *scale, *weights.statistics(channels))
    return TupleGetItem(call, 0)


def conv_bn_relu(
    weights: Weights, data: Expr, channels: tuple[int, int], kernel: int, *, stride: int = 1
) -> Expr:
    """Convolution, batch normalisation, rectifier."""
    convolved = conv(weights, data, channels, kernel, stride=stride)
    return relu(batch_norm(weights, convolved, channels[1]))


def conv_bias_relu(
    weights: Weights,
    data: Expr,
    channels: tuple[int, int],
    kernel: int,
    *,
    stride: int = 1,
    padding: int | None = None,
) -> Expr:
    """Convolution, bias, rectifier."""
    convolved = conv(weights, data, channels, kernel, stride=stride, padding=padding)
    return relu(bias_add(convolved, weights.bias(channels[1])))


def relu6(data: Expr) -> Expr:
    """A rectifier that saturates at 6."""
    return clip(data, a_min=0.0, a_max=6.0)


def dense(weights: Weights, data: Expr, features: tuple[int, int], *, gain: float = 1.0) -> Expr:
    """A fully connected layer of (input, output) features with a bias, over the last axis."""
    inputs, outputs = features
    product = dense_operator(data, weights.he((outputs, inputs), inputs, gain), units=outputs)
    return bias_add(product, weights.bias(outputs), axis=-1)


def dense_relu(weights: Weights, data: Expr, features: tuple[int, int]) -> Expr:
    """A fully connected layer and a rectifier."""
    return relu(dense(weights, data, features, gain=2.0))


def layer_norm(weights: Weights, data: Expr, features: int, epsilon: float = 1e-12) -> Expr:
    """Normalisation of the last axis."""
    gamma, beta = weights.normalization(features, 1.0)
    return layer_norm_operator(data, gamma, beta, axis=-1, epsilon=epsilon)


def pooled_classifier(weights: Weights, data: Expr, features: tuple[int, int]) -> Expr:
    """The average over the image and a fully connected layer: scores [batch, classes]."""
    return dense(weights, batch_flatten(global_avg_pool2d(data)), features)
