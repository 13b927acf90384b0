"""VGG (Simonyan and Zisserman, 2015): 3x3 convolutions and large fully connected layers."""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.op.nn.bias import batch_flatten
from relay_tune.op.nn.pool import max_pool2d
from relay_tune.zoo.layers import conv_bias_relu, dense, dense_relu, image_input, network
from relay_tune.zoo.weights import Weights

STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""Channels and number of convolutions before each pooling (configuration D of the paper)."""

SMALL_STAGES = ((8, 1), (16, 2), (16, 1))


def vgg16(weights: Weights, batch: int, small: bool) -> Module:
    """VGG-16, without the dropout of training."""
    image, hidden, classes = (32, 64, 10) if small else (224, 4096, 1000)
    stages = SMALL_STAGES if small else STAGES
    data = image_input(batch, 3, image)
    value: Expr = data
    channels = 3
    for outputs, count in stages:
        for _ in range(count):
            value = conv_bias_relu(weights, value, (channels, outputs), 3)
            channels = outputs
        value = max_pool2d(value, pool_size=(2, 2), strides=(2, 2))
    side = image >> len(stages)
    value = dense_relu(weights, batch_flatten(value), (channels * side * side, hidden))
    value = dense_relu(weights, value, (hidden, hidden))
    return network((data,), dense(weights, value, (hidden, classes)))
