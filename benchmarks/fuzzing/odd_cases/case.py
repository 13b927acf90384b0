"""A call of an operator, and what random calls are drawn with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Operand = Array | tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A call of an operator.

    Attributes:
        operands: arrays, or tuples of arrays.
        attributes: of the call.
        weights: the operands, by position, that may be constants of a model.
        sound: the operands that get no odd element. The borders of a transposed convolution are
            products with zeros, as those of a convolution are: an infinite weight makes them NaN.
    """

    operands: tuple[Operand, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[int, ...] = ()
    sound: tuple[int, ...] = ()


class Draw:
    """Random shapes, numbers and choices."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def size(self, low: int = 1, high: int = 9) -> int:
        """A size of an axis."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, *values: Any) -> Any:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def shape(self, least: int = 1, most: int = 4) -> tuple[int, ...]:
        """The shape of a tensor, at times with a long last axis."""
        rank = self.size(least, most)
        return (*(self.size(1, 5) for _ in range(rank - 1)), self.size(1, self.pick(9, 70)))

    def floats(self, *shape: int) -> Array:
        """Normal numbers."""
        return self.rng.standard_normal(shape).astype(np.float32)

    def positive(self, *shape: int) -> Array:
        """Numbers from 0.5 to 2."""
        return self.rng.uniform(0.5, 2, shape).astype(np.float32)

    def indices(self, bound: int, *shape: int) -> Array:
        """Indices of an axis."""
        return self.rng.integers(0, bound, shape).astype(np.int32)


Maker = Callable[[Draw], Case]


def images(draw: Draw, rank: int, channels: int) -> Array:
    """Images, signals or volumes of a batch."""
    sizes = [draw.size(5, {1: 40, 2: 14, 3: 7}[rank]) for _ in range(rank)]
    return draw.floats(draw.size(1, 3), channels, *sizes)


def with_attributes(attributes: Callable[[Draw, Array], dict[str, Any]], least: int = 1) -> Maker:
    """A call on one tensor with attributes that depend on it."""

    def make(draw: Draw) -> Case:
        data = draw.floats(*draw.shape(least))
        return Case((data,), attributes(draw, data))

    return make
