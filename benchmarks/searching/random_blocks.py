"""Random building blocks of networks, made from a seed: what a cost model is trained on.

Channels, image sizes and widths are drawn from ranges, so that the blocks resemble those of known
networks without being theirs.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.arithmetic import add
from relay_tune.op.nn.activation import gelu, relu
from relay_tune.op.nn.matmul import batch_matmul
from relay_tune.op.nn.pool import avg_pool2d, max_pool2d
from relay_tune.op.nn.softmax import softmax
from relay_tune.op.nn.transposed_convolution import conv2d_transpose
from relay_tune.zoo.layers import (
    batch_norm,
    conv,
    conv_bias_relu,
    conv_bn_relu,
    dense,
    dense_relu,
    image_input,
    layer_norm,
    network,
    relu6,
)
from relay_tune.zoo.weights import Weights

CHANNELS = (16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512)
SIZES = (7, 8, 13, 14, 17, 26, 28, 35, 40, 56, 73, 112)
WIDTHS = (64, 100, 128, 200, 256, 320, 512, 768, 1000, 1024, 1536, 2048, 3072)
ROWS = (1, 1, 4, 16, 50, 64, 100, 128, 197, 256)
MOST_OPERATIONS = 1.2e9
FIRST_BLOCKS = 108


def random_block(seed: int, number: int) -> Module:
    """A block of an endless series, in which the kinds take turns.

    The kinds of the first `FIRST_BLOCKS` stay as they are: logs hold what was measured of them.
    """
    generator = random.Random(f"{seed} {number}")
    weights = Weights(generator.randrange(1 << 32))
    first = (
        _residual,
        _inverted,
        _attention,
        _bottleneck,
        _dense,
        _stem,
        _separable,
        _feed_forward,
        _plain,
    )
    later = (_upsampling, _stem, _grouped, _separable)
    kinds = first if number < FIRST_BLOCKS else later
    return kinds[number % len(kinds)](generator, weights)


def _image(generator: random.Random, kernel: int) -> tuple[Var, int]:
    """An input, and its channels, for which a convolution is of a bearable size."""
    while True:
        channels, size = generator.choice(CHANNELS), generator.choice(SIZES)
        if 2 * (channels * size * kernel) ** 2 <= MOST_OPERATIONS:
            return image_input(1, channels, size), channels


def _residual(generator: random.Random, weights: Weights) -> Module:
    """Two 3x3 convolutions beside a shortcut."""
    data, channels = _image(generator, 3)
    value = conv_bn_relu(weights, data, (channels, channels), 3)
    value = batch_norm(weights, conv(weights, value, (channels, channels), 3), channels)
    return network((data,), relu(add(value, data)))


def _bottleneck(generator: random.Random, weights: Weights) -> Module:
    """1x1, 3x3 of stride 1 or 2, 1x1."""
    data, channels = _image(generator, 3)
    inner, stride = max(16, channels // generator.choice((1, 2, 4))), generator.choice((1, 2))
    value = conv_bn_relu(weights, data, (channels, inner), 1)
    value = conv_bn_relu(weights, value, (inner, inner), 3, stride=stride)
    return network((data,), conv_bn_relu(weights, value, (inner, 2 * channels), 1))


def _inverted(generator: random.Random, weights: Weights) -> Module:
    """1x1, depthwise, 1x1, as in mobile networks."""
    data, channels = _image(generator, 3)
    wide, kernel = channels * generator.choice((1, 3, 4, 6)), generator.choice((3, 3, 5))
    value = relu6(conv(weights, data, (channels, wide), 1))
    depthwise = conv(
        weights, value, (wide, wide), kernel, stride=generator.choice((1, 2)), groups=wide
    )
    value = conv(weights, relu6(depthwise), (wide, channels), 1)
    return network((data,), value)


def _separable(generator: random.Random, weights: Weights) -> Module:
    """Two depthwise convolutions, each with a 1x1 convolution behind it."""
    data, channels = _image(generator, 3)
    value: Expr = data
    for _ in range(2):
        kernel, stride = generator.choice((3, 3, 5, 7)), generator.choice((1, 1, 2))
        value = conv(weights, value, (channels, channels), kernel, stride=stride, groups=channels)
        value = conv_bn_relu(weights, relu(value), (channels, channels), 1)
    return network((data,), value)


def _upsampling(generator: random.Random, weights: Weights) -> Module:
    """Two transposed convolutions that double an image each."""
    data, channels = _image(generator, 4)
    value: Expr = data
    for outputs in (max(16, channels // 2), max(8, channels // 4)):
        kernel, padding = generator.choice(((2, 0), (4, 1)))
        value = relu(
            conv2d_transpose(
                value,
                weights.he((channels, outputs, kernel, kernel), channels * kernel * kernel // 4),
                strides=(2, 2),
                padding=(padding, padding),
                channels=outputs,
                kernel_size=(kernel, kernel),
            )
        )
        channels = outputs
    return network((data,), value)


def _grouped(generator: random.Random, weights: Weights) -> Module:
    """1x1, grouped 3x3 of stride 1 or 2, 1x1."""
    data, channels = _image(generator, 2)
    stride, groups = generator.choice((1, 2)), generator.choice((2, 4, 8))
    value = conv_bn_relu(weights, data, (channels, channels), 1)
    value = relu(conv(weights, value, (channels, channels), 3, stride=stride, groups=groups))
    return network((data,), conv_bn_relu(weights, value, (channels, 2 * channels), 1))


def _plain(generator: random.Random, weights: Weights) -> Module:
    """Convolution, bias, rectifier, pooling."""
    data, channels = _image(generator, 5)
    kernel, outputs = generator.choice((1, 3, 3, 5)), generator.choice(CHANNELS)
    value = conv_bias_relu(weights, data, (channels, outputs), kernel)
    pool: Callable[..., Expr] = generator.choice((max_pool2d, avg_pool2d))
    extent = generator.choice((2, 3))
    return network((data,), pool(value, pool_size=(extent, extent), strides=(2, 2)))


def _stem(generator: random.Random, weights: Weights) -> Module:
    """The first layer of a network: few channels, a large image."""
    size, kernel = generator.choice((84, 96, 112, 160, 224)), generator.choice((3, 5, 7, 8))
    inputs, outputs = generator.choice((1, 3, 3, 4)), generator.choice((16, 24, 32, 64))
    data = image_input(1, inputs, size)
    stride = generator.choice((1, 2)) if size < 160 else 2
    return network((data,), conv_bn_relu(weights, data, (inputs, outputs), kernel, stride=stride))


def _dense(generator: random.Random, weights: Weights) -> Module:
    """Two layers of a perceptron."""
    rows, inputs, inner = (generator.choice(values) for values in (ROWS, WIDTHS, WIDTHS))
    data = Var("data", TensorType((rows, inputs), "float32"))
    outputs = generator.choice(WIDTHS)
    value = dense_relu(weights, data, (inputs, inner))
    return network((data,), dense(weights, value, (inner, outputs)))


def _feed_forward(generator: random.Random, weights: Weights) -> Module:
    """The feed-forward part of a transformer, with its normalisation."""
    rows, width = generator.choice(ROWS[3:]), generator.choice(WIDTHS[:9])
    data = Var("data", TensorType((1, rows, width), "float32"))
    wide = gelu(dense(weights, data, (width, 2 * width)))
    value = add(dense(weights, wide, (2 * width, width)), data)
    return network((data,), layer_norm(weights, value, width))


def _attention(generator: random.Random, weights: Weights) -> Module:
    """Scaled dot products of several heads, softmax, and the mixed values."""
    heads, rows, width = generator.choice((4, 6, 8, 12)), generator.choice(ROWS[4:]), 64
    tensor = TensorType((heads, rows, width), "float32")
    query, key, value = (Var(name, tensor) for name in ("query", "key", "value"))
    shares = softmax(batch_matmul(query, key, transpose_b=True), axis=-1)
    return network((query, key, value), batch_matmul(shares, value, transpose_b=False))
