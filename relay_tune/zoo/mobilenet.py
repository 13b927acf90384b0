"""MobileNetV2 (Sandler et al., 2018): inverted residuals with depthwise convolutions."""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.op.arithmetic import add
from relay_tune.quick_dataclass import dataclass
from relay_tune.zoo.layers import batch_norm, conv, image_input, network, pooled_classifier, relu6
from relay_tune.zoo.weights import Weights


@dataclass(frozen=True, slots=True)
class Stage:
    """A row of table 2 of the paper: `blocks` blocks, the first of stride `stride`."""

    expansion: int
    channels: int
    blocks: int
    stride: int


STAGES = (
    Stage(1, 16, 1, 1),
    Stage(6, 24, 2, 2),
    Stage(6, 32, 3, 2),
    Stage(6, 64, 4, 2),
    Stage(6, 96, 3, 1),
    Stage(6, 160, 3, 2),
    Stage(6, 320, 1, 1),
)
SMALL_STAGES = (Stage(1, 8, 1, 1), Stage(6, 8, 2, 2), Stage(6, 16, 2, 2))


def mobilenet_v2(weights: Weights, batch: int, small: bool) -> Module:
    """MobileNetV2 of width 1."""
    image, stem, last, classes = (32, 8, 32, 10) if small else (224, 32, 1280, 1000)
    data = image_input(batch, 3, image)
    value = _conv_bn_relu6(weights, data, (3, stem), 3, stride=2)
    inputs = stem
    for stage in SMALL_STAGES if small else STAGES:
        for index in range(stage.blocks):
            stride = stage.stride if index == 0 else 1
            value = _inverted_residual(weights, value, inputs, stage, stride)
            inputs = stage.channels
    value = _conv_bn_relu6(weights, value, (inputs, last), 1)
    return network((data,), pooled_classifier(weights, value, (last, classes)))


def _inverted_residual(
    weights: Weights, data: Expr, inputs: int, stage: Stage, stride: int
) -> Expr:
    """Expand with 1x1, convolve each channel, project with 1x1; add the data where it fits."""
    hidden = inputs * stage.expansion
    value = data
    if stage.expansion != 1:
        value = _conv_bn_relu6(weights, value, (inputs, hidden), 1)
    value = _conv_bn_relu6(weights, value, (hidden, hidden), 3, stride=stride, groups=hidden)
    projected = conv(weights, value, (hidden, stage.channels), 1)
    value = batch_norm(weights, projected, stage.channels)
    return add(data, value) if stride == 1 and inputs == stage.channels else value


def _conv_bn_relu6(
    weights: Weights,
    data: Expr,
    channels: tuple[int, int],
    kernel: int,
    *,
    stride: int = 1,
    groups: int = 1,
) -> Expr:
    convolved = conv(weights, data, channels, kernel, stride=stride, groups=groups)
    return relu6(batch_norm(weights, convolved, channels[1]))
