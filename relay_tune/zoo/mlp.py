"""A multi-layer perceptron for images of 28 x 28 as vectors."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.zoo.layers import dense, dense_relu, network
from relay_tune.zoo.weights import Weights


def mlp(weights: Weights, batch: int, small: bool) -> Module:
    """784 - 512 - 512 - 10, rectified in between."""
    sizes = (20, 24, 16, 10) if small else (784, 512, 512, 10)
    data = Var("data", TensorType((batch, sizes[0]), "float32"))
    value: Expr = data
    for pair in zip(sizes[:-1], sizes[1:-1], strict=False):
        value = dense_relu(weights, value, pair)
    return network((data,), dense(weights, value, (sizes[-2], sizes[-1])))
