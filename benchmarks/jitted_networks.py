"""The networks of `benchmarks.training_networks` in JAX, with torch's parameters by their names."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax
from jax import numpy as jnp
from torch import nn

from benchmarks.training_networks import Block, Layer, Recurrent, Transformer

Numbers = dict[str, Any]
"""Arrays by torch's names of parameters and buffers."""


class Applied:
    """A network as it is trained: what it gives, and the running statistics that follow.

    Attributes:
        updates: the running means and variances after this call, by name.
    """

    def __init__(self, values: Numbers) -> None:
        """Take the parameters and buffers by name."""
        self.values = values
        self.updates: Numbers = {}

    def __call__(self, layer: nn.Module, data: Any, name: str = "") -> Any:
        """The result of a layer whose parameters' names begin with a name.

        Raises:
            TypeError: the layer is not written in JAX here.
        """
        match layer:
            case nn.Sequential():
                for index, each in enumerate(layer):
                    data = self(each, data, f"{name}{index}.")
                return data
            case nn.Linear():
                return data @ self.values[name + "weight"].T + self.values[name + "bias"]
            case nn.Conv2d():
                return self._convolution(layer, data, name)
            case nn.BatchNorm2d():
                return self._batch_norm(layer, data, name)
            case nn.LayerNorm():
                return self._layer_norm(layer, data, name)
            case nn.MaxPool2d(kernel_size=int(size)):
                window = (1, 1, size, size)
                return lax.reduce_window(data, -jnp.inf, lax.max, window, window, "VALID")
            case nn.AdaptiveAvgPool2d():
                return data.mean((2, 3), keepdims=True)
            case nn.ReLU():
                return jax.nn.relu(data)
            case nn.Flatten():
                return data.reshape(len(data), -1)
            case nn.Identity():
                return data
            case Block():
                return self._block(layer, data, name)
            case Transformer():
                for index, each in enumerate(layer.layers):
                    data = self(each, data, f"{name}layers.{index}.")
                return self(layer.head, data, name + "head.")
            case Layer():
                return self._attention_layer(layer, data, name)
            case Recurrent():
                return self(layer.head, self._lstm(data, name + "cells."), name + "head.")
            case _:
                raise TypeError(f"{type(layer).__name__} is not written in JAX here")

    def _convolution(self, layer: nn.Conv2d, data: Any, name: str) -> Any:
        padding = [(width, width) for width in layer.padding]
        result = lax.conv_general_dilated(data, self.values[name + "weight"], layer.stride, padding)
        return result if layer.bias is None else result + self.values[name + "bias"][:, None, None]

    def _batch_norm(self, layer: nn.BatchNorm2d, data: Any, name: str) -> Any:
        mean = data.mean((0, 2, 3))
        variance = data.var((0, 2, 3))
        count = data.size / data.shape[1]
        seen = {"mean": mean, "var": variance * (count / (count - 1))}
        for kind, found in seen.items():
            own = f"{name}running_{kind}"
            self.updates[own] = self.values[own] + layer.momentum * (found - self.values[own])
        scale = self.values[name + "weight"] * lax.rsqrt(variance + layer.eps)
        shift = self.values[name + "bias"] - mean * scale
        return data * scale[:, None, None] + shift[:, None, None]

    def _layer_norm(self, layer: nn.LayerNorm, data: Any, name: str) -> Any:
        centred = data - data.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        scaled = centred * lax.rsqrt(variance + layer.eps)
        return scaled * self.values[name + "weight"] + self.values[name + "bias"]

    def _block(self, layer: Block, data: Any, name: str) -> Any:
        hidden = self(
            layer.first_norm, self(layer.first, data, name + "first."), name + "first_norm."
        )
        hidden = jax.nn.relu(hidden)
        hidden = self(
            layer.second_norm, self(layer.second, hidden, name + "second."), name + "second_norm."
        )
        return jax.nn.relu(hidden + self(layer.shortcut, data, name + "shortcut."))

    def _attention_layer(self, layer: Layer, data: Any, name: str) -> Any:
        batch, length, width = data.shape
        part = width // layer.heads
        joined = self(
            layer.projections, self(layer.before, data, name + "before."), name + "projections."
        )
        parts = joined.reshape(batch, length, 3, layer.heads, part).transpose(2, 0, 3, 1, 4)
        query, key, value = parts
        scores = query @ key.swapaxes(-1, -2) * part**-0.5
        mixed = (jax.nn.softmax(scores) @ value).swapaxes(1, 2).reshape(data.shape)
        data = data + self(layer.joined, mixed, name + "joined.")
        wide = self(layer.wide, self(layer.between, data, name + "between."), name + "wide.")
        return data + self(layer.narrow, jax.nn.gelu(wide, approximate=False), name + "narrow.")

    def _lstm(self, data: Any, name: str) -> Any:
        """The last output; products with the inputs are one, before the steps."""
        biases = self.values[name + "bias_ih_l0"] + self.values[name + "bias_hh_l0"]
        inputs = data @ self.values[name + "weight_ih_l0"].T + biases
        recurrent = self.values[name + "weight_hh_l0"].T

        def cell(state: Any, inputs: Any) -> Any:
            hidden, memory = state
            gates = jnp.split(inputs + hidden @ recurrent, 4, axis=-1)
            enter, forget, leave = (jax.nn.sigmoid(gates[index]) for index in (0, 1, 3))
            memory = forget * memory + enter * jnp.tanh(gates[2])
            return (leave * jnp.tanh(memory), memory), None

        zeros = jnp.zeros((data.shape[1], recurrent.shape[0]), data.dtype)
        return lax.scan(cell, (zeros, zeros), inputs)[0][0]
