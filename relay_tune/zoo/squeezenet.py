"""SqueezeNet 1.1 (Iandola et al., 2016, and its later release): fire modules."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Tuple
from relay_tune.ir.module import Module
from relay_tune.op.joining import concatenate
from relay_tune.op.nn.bias import batch_flatten
from relay_tune.op.nn.global_pool import global_avg_pool2d
from relay_tune.op.nn.pool import max_pool2d
from relay_tune.zoo.layers import conv_bias_relu, image_input, network
from relay_tune.zoo.weights import Weights

STAGES = (
    ((16, 64), (16, 64)),
    ((32, 128), (32, 128)),
    ((48, 192), (48, 192), (64, 256), (64, 256)),
)
"""(squeezed, expanded) channels of the fire modules behind each pooling."""

SMALL_STAGES = (((4, 8),), ((4, 8), (8, 16)))


def squeezenet1_1(weights: Weights, batch: int, small: bool) -> Module:
    """SqueezeNet 1.1, without the dropout of training."""
    image, stem, classes = (48, 8, 10) if small else (224, 64, 1000)
    data = image_input(batch, 3, image)
    value = conv_bias_relu(weights, data, (3, stem), 3, stride=2, padding=0)
    channels = stem
    for stage in SMALL_STAGES if small else STAGES:
        value = max_pool2d(value, pool_size=(3, 3), strides=(2, 2), ceil_mode=True)
        for squeezed, expanded in stage:
            value = _fire(weights, value, (channels, squeezed, expanded))
            channels = 2 * expanded
    scores = conv_bias_relu(weights, value, (channels, classes), 1)
    return network((data,), batch_flatten(global_avg_pool2d(scores)))


def _fire(weights: Weights, data: Expr, channels: tuple[int, int, int]) -> Expr:
    """Squeeze with 1x1, then expand with 1x1 and 3x3 side by side."""
    inputs, squeezed, expanded = channels
    narrow = conv_bias_relu(weights, data, (inputs, squeezed), 1)
    parts = (
        conv_bias_relu(weights, narrow, (squeezed, expanded), 1),
        conv_bias_relu(weights, narrow, (squeezed, expanded), 3),
    )
    return concatenate(Tuple(parts), axis=1)
