"""The network of deep Q-learning on Atari games (Mnih et al., 2015, "Methods")."""

from __future__ import annotations

from relay_tune.ir.module import Module
from relay_tune.op.nn.bias import batch_flatten
from relay_tune.zoo.layers import conv_bias_relu, dense, dense_relu, image_input, network
from relay_tune.zoo.weights import Weights

ACTIONS = 6


def nature_dqn(weights: Weights, batch: int, small: bool) -> Module:
    """Four frames `data` [batch, 4, 84, 84] to the values of 6 actions."""
    image, channels, hidden = (44, (8, 8, 8), 16) if small else (84, (32, 64, 64), 512)
    first, second, third = channels
    data = image_input(batch, 4, image)
    value = conv_bias_relu(weights, data, (4, first), 8, stride=4, padding=0)
    value = conv_bias_relu(weights, value, (first, second), 4, stride=2, padding=0)
    value = conv_bias_relu(weights, value, (second, third), 3, padding=0)
    side = ((image - 8) // 4 + 1 - 4) // 2 + 1 - 2
    value = dense_relu(weights, batch_flatten(value), (third * side * side, hidden))
    return network((data,), dense(weights, value, (hidden, ACTIONS)))
