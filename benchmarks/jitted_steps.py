"""Training steps in JAX, of the sequential networks that are written in torch.

JAX has no number of threads to set: it takes as many as the process may use processors when it is
first called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from torch import nn

Parameters = list[dict[str, Any]]
"""The weight and the bias of each layer that has them."""


def jitted_step(
    network: nn.Sequential, rate: float, threads: int
) -> Callable[[np.ndarray, np.ndarray], float]:
    """A step of gradient descent, compiled as one program; parameters are donated.

    Args:
        network: of dense and convolutional layers, maxima, ReLU and Flatten; its parameters are the
            first ones.
        rate: of learning.
        threads: the processors that JAX may use; it is to be the first call of it in this process.
    """
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[:threads])
    jax.devices()
    os.sched_setaffinity(0, processors)
    layers = list(network)
    parameters: Parameters = [
        {name: jnp.array(value.detach().numpy()) for name, value in layer.named_parameters()}
        for layer in layers
    ]

    def loss_of(values: Parameters, inputs: Any, targets: Any) -> Any:
        logits = _forward(layers, values, inputs)
        chosen = jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - chosen)

    def update(values: Parameters, inputs: Any, targets: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(values, inputs, targets)
        return loss, jax.tree.map(lambda old, slope: old - rate * slope, values, gradients)

    program = jax.jit(update, donate_argnums=0)

    def step(inputs: np.ndarray, targets: np.ndarray) -> float:
        nonlocal parameters
        loss, parameters = program(parameters, inputs, targets)
        return float(loss)

    return step


def _forward(layers: Sequence[nn.Module], values: Parameters, data: Any) -> Any:
    for layer, own in zip(layers, values, strict=True):
        data = _layer(layer, own, data)
    return data


def _layer(layer: nn.Module, own: dict[str, Any], data: Any) -> Any:
    match layer:
        case nn.Linear():
            return data @ own["weight"].T + own["bias"]
        case nn.Conv2d(stride=stride, padding=(rows, columns)):
            padding = ((rows, rows), (columns, columns))
            result = lax.conv_general_dilated(data, own["weight"], stride, padding)
            return result + own["bias"][:, None, None]
        case nn.MaxPool2d(kernel_size=int(size)):
            window = (1, 1, size, size)
            return lax.reduce_window(data, -jnp.inf, lax.max, window, window, "VALID")
        case nn.ReLU():
            return jax.nn.relu(data)
        case nn.Flatten():
            return data.reshape(len(data), -1)
        case _:
            raise TypeError(f"{type(layer).__name__} is not written in JAX here")
