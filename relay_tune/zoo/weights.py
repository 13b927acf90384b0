"""Seeded random weights whose activations stay near unit size through any number of layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relay_tune.ir.expr import Constant, constant

Array = np.ndarray[Any, np.dtype[Any]]


class Weights:
    """A source of constants; the same seed and the same order of calls give the same numbers."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def normal(self, shape: tuple[int, ...], deviation: float) -> Array:
        """Normal numbers around zero, float32."""
        numbers = self._random.standard_normal(shape, dtype=np.float32)
        numbers *= np.float32(deviation)
        return numbers

    def uniform(self, shape: tuple[int, ...], low: float, high: float) -> Array:
        """Numbers spread evenly over [low, high), float32."""
        return self._random.uniform(low, high, shape).astype(np.float32)

    def he(self, shape: tuple[int, ...], fan_in: int, gain: float = 2.0) -> Constant:
        """A weight of variance gain / fan_in, which keeps the size of activations.

        The gain 2 is for layers that follow a rectifier (He et al., 2015, section 2.2).
        """
        return constant(self.normal(shape, math.sqrt(gain / fan_in)))

    def bias(self, size: int) -> Constant:
        """A small bias."""
        return constant(self.normal((size,), 0.05))

    def normalization(self, channels: int, gain: float) -> tuple[Constant, Constant]:
        """gamma around `gain`, and a small beta."""
        gamma = self.uniform((channels,), 0.8 * gain, 1.2 * gain)
        return constant(gamma), self.bias(channels)

    def statistics(self, channels: int) -> tuple[Constant, Constant]:
        """The mean and the variance that training would have collected: near 0 and 1."""
        mean = self.normal((channels,), 0.1)
        return constant(mean), constant(self.uniform((channels,), 0.7, 1.3))
