"""Residual networks (He et al., 2016, "Deep Residual Learning for Image Recognition").

A stage that halves the image does so in its first 3x3 convolution.
"""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.op.arithmetic import add
from relay_tune.op.nn.activation import relu
from relay_tune.op.nn.pool import max_pool2d
from relay_tune.quick_dataclass import dataclass
from relay_tune.zoo.layers import (
    batch_norm,
    conv,
    conv_bn_relu,
    image_input,
    network,
    pooled_classifier,
)
from relay_tune.zoo.weights import Weights

BRANCH_GAIN = 0.25
"""Of the last normalisation of each branch: sums of many branches grow slowly."""


@dataclass(frozen=True, slots=True)
class ResidualNetwork:
    """The sizes of a residual network.

    Attributes:
        blocks: residual blocks of each stage.
        width: channels of the first stage; each stage doubles them.
        bottleneck: whether blocks are 1x1, 3x3, 1x1 with four times the channels at the end.
        image: height and width of the input.
        classes: number of scores.
    """

    blocks: tuple[int, ...]
    width: int
    bottleneck: bool
    image: int
    classes: int


def resnet18(weights: Weights, batch: int, small: bool) -> Module:
    """ResNet-18: 3x3 blocks, 2 a stage."""
    full = ResidualNetwork((2, 2, 2, 2), 64, False, 224, 1000)
    reduced = ResidualNetwork((1, 2, 1, 1), 8, False, 64, 10)
    return _residual_network(weights, batch, reduced if small else full)


def resnet50(weights: Weights, batch: int, small: bool) -> Module:
    """ResNet-50: bottleneck blocks, 3, 4, 6 and 3 a stage."""
    full = ResidualNetwork((3, 4, 6, 3), 64, True, 224, 1000)
    reduced = ResidualNetwork((1, 2, 1, 1), 8, True, 64, 10)
    return _residual_network(weights, batch, reduced if small else full)


def _residual_network(weights: Weights, batch: int, sizes: ResidualNetwork) -> Module:
    data = image_input(batch, 3, sizes.image)
    stem = conv_bn_relu(weights, data, (3, sizes.width), 7, stride=2)
    value: Expr = max_pool2d(stem, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    block = _bottleneck_block if sizes.bottleneck else _basic_block
    inputs = sizes.width
    for stage, count in enumerate(sizes.blocks):
        width = sizes.width << stage
        outputs = 4 * width if sizes.bottleneck else width
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            branch = block(weights, value, inputs, width, stride)
            shortcut = _shortcut(weights, value, (inputs, outputs), stride)
            value = relu(add(branch, shortcut))
            inputs = outputs
    return network((data,), pooled_classifier(weights, value, (inputs, sizes.classes)))


def _basic_block(weights: Weights, data: Expr, inputs: int, width: int, stride: int) -> Expr:
    first = conv_bn_relu(weights, data, (inputs, width), 3, stride=stride)
    second = conv(weights, first, (width, width), 3)
    return batch_norm(weights, second, width, BRANCH_GAIN)


def _bottleneck_block(weights: Weights, data: Expr, inputs: int, width: int, stride: int) -> Expr:
    narrow = conv_bn_relu(weights, data, (inputs, width), 1)
    middle = conv_bn_relu(weights, narrow, (width, width), 3, stride=stride)
    wide = conv(weights, middle, (width, 4 * width), 1)
    return batch_norm(weights, wide, 4 * width, BRANCH_GAIN)


def _shortcut(weights: Weights, data: Expr, channels: tuple[int, int], stride: int) -> Expr:
    """The data, projected where the block changes its shape."""
    if stride == 1 and channels[0] == channels[1]:
        return data
    projected = conv(weights, data, channels, 1, stride=stride, gain=1.0)
    return batch_norm(weights, projected, channels[1])
