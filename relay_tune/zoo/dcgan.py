"""The generator of DCGAN (Radford et al., 2016): transposed convolutions from noise to an image."""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.op.math import tanh
from relay_tune.op.nn.activation import relu
from relay_tune.op.nn.transposed_convolution import conv2d_transpose
from relay_tune.zoo.layers import batch_norm, image_input, network
from relay_tune.zoo.weights import Weights

KERNEL = 4


def dcgan(weights: Weights, batch: int, small: bool) -> Module:
    """Noise `data` [batch, 100, 1, 1] to images [batch, 3, 64, 64] in (-1, 1).

    The small one makes images of 16 x 16 from 12 numbers.
    """
    noise, channels = (12, (16, 8)) if small else (100, (512, 256, 128, 64))
    data = image_input(batch, noise, 1)
    value = _upsample(weights, data, (noise, channels[0]), stride=1, padding=0)
    value = relu(batch_norm(weights, value, channels[0]))
    for pair in zip(channels, channels[1:], strict=False):
        value = relu(batch_norm(weights, _upsample(weights, value, pair), pair[1]))
    return network((data,), tanh(_upsample(weights, value, (channels[-1], 3))))


def _upsample(
    weights: Weights, data: Expr, channels: tuple[int, int], *, stride: int = 2, padding: int = 1
) -> Expr:
    """A transposed convolution; each element of the result sums (kernel / stride)^2 taps."""
    taps = (KERNEL // stride) ** 2 if stride > 1 else 1
    return conv2d_transpose(
        data,
        weights.he((*channels, KERNEL, KERNEL), channels[0] * taps),
        strides=(stride, stride),
        padding=(padding, padding),
        channels=channels[1],
        kernel_size=(KERNEL, KERNEL),
    )
