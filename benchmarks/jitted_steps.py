"""Training steps in JAX, of the networks that are written in torch.

JAX has no number of threads to set: it takes as many as the process may use processors when it is
first called.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from torch import nn

import relay_tune as rt
from benchmarks.jitted_networks import Applied, Numbers

Update = Callable[[Any, Any, Any, Any], tuple[Any, Any]]
"""A parameter, its gradient, its moments and the number of the step; the new ones."""


def jitted_step(
    network: nn.Module, optimiser: Any, threads: int
) -> Callable[[np.ndarray, np.ndarray], float]:
    """A step of training, compiled as one program; parameters, buffers and moments are donated.

    Args:
        network: its parameters and buffers are the first ones.
        optimiser: of ours, which JAX's step follows.
        threads: the processors that JAX may use; it is to be the first call of it in this process.
    """
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[:threads])
    jax.devices()
    os.sched_setaffinity(0, processors)
    values = {name: jnp.array(value.detach().numpy()) for name, value in network.named_parameters()}
    buffers = {name: jnp.array(value.numpy()) for name, value in network.named_buffers()}
    first, update = _updates(optimiser)
    state = (values, buffers, {name: first(value) for name, value in values.items()}, jnp.zeros(()))

    def loss_of(values: Numbers, buffers: Numbers, inputs: Any, targets: Any) -> Any:
        applied = Applied(values | buffers)
        logits = applied(network, inputs).reshape(targets.size, -1)
        chosen = jnp.take_along_axis(logits, targets.reshape(-1, 1), axis=1)[:, 0]
        loss = jnp.mean(jax.nn.logsumexp(logits, axis=1) - chosen)
        return loss, buffers | applied.updates

    def step_of(state: Any, inputs: Any, targets: Any) -> Any:
        values, buffers, moments, number = state
        slopes = jax.value_and_grad(loss_of, has_aux=True)
        (loss, buffers), gradients = slopes(values, buffers, inputs, targets)
        number = number + 1
        pairs = {
            name: update(values[name], gradients[name], moments[name], number) for name in values
        }
        values = {name: pair[0] for name, pair in pairs.items()}
        moments = {name: pair[1] for name, pair in pairs.items()}
        return loss, (values, buffers, moments, number)

    program = jax.jit(step_of, donate_argnums=0)

    def step(inputs: np.ndarray, targets: np.ndarray) -> float:
        nonlocal state
        loss, state = program(state, inputs, targets)
        return float(loss)

    return step


def _updates(optimiser: Any) -> tuple[Callable[[Any], Any], Update]:
    """The first moments of a parameter, and the update (torch's formulas)."""
    match optimiser:
        case rt.training.SGD(rate=float(rate)):
            return lambda _: (), lambda value, slope, state, _: (value - rate * slope, state)
        case rt.training.AdamW(rate=float(rate), decay=float(decay)):
            return _zero_moments, _adam(rate, decay)
        case rt.training.Adam(rate=float(rate)):
            return _zero_moments, _adam(rate, 0.0)
        case _:
            raise TypeError(f"{type(optimiser).__name__} is not written in JAX here")


def _zero_moments(value: Any) -> tuple[Any, Any]:
    return jnp.zeros_like(value), jnp.zeros_like(value)


def _adam(rate: float, decay: float) -> Update:
    """Adam with the weights' decay apart (Loshchilov and Hutter, 2019, algorithm 2)."""

    def update(value: Any, slope: Any, moments: Any, number: Any) -> tuple[Any, Any]:
        mean = 0.9 * moments[0] + 0.1 * slope
        square = 0.999 * moments[1] + 0.001 * slope * slope
        size = jnp.sqrt(square) / jnp.sqrt(1 - 0.999**number) + 1e-8
        moved = rate / (1 - 0.9**number) * mean / size
        return value * (1 - rate * decay) - moved, (mean, square)

    return update
