"""The numbers that decide a random tensor program, and expressions that many families use."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    literal,
    reduce,
)
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Input, compute, input_tensor

FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int32", "uint8", "int64", "int16", "uint32")


@dataclass
class Draw:
    """A program under construction, and the numbers that decide it.

    Attributes:
        exact: whether all values are the same in any order of evaluation; only then may a step
            compare them or round them to integers.
    """

    rng: random.Random
    feeds: dict[Input, np.ndarray[Any, Any]] = field(default_factory=dict)
    constants: list[Input] = field(default_factory=list)
    exact: bool = True

    def size(self, *, most: int = 9) -> int:
        """An extent; small, and now and then larger than a vector."""
        return self.rng.choice([1, 2, 3, 4, 5, 7, 8, most, self.rng.randint(1, 3 * most)])

    def input(self, shape: Sequence[int], dtype: str, *, constant: bool = False) -> Input:
        """An input with small whole numbers, so that sums of floats are exact in most orders."""
        tensor = input_tensor(f"x{len(self.feeds)}", tuple(shape), dtype)
        numbers = np.random.default_rng(self.rng.getrandbits(32))
        low = 0 if dtype == "bool" or dtype.startswith("u") else -3
        values = numbers.integers(low, 2 if dtype == "bool" else 4, tensor.shape)
        self.feeds[tensor] = values.astype(numpy_dtype(dtype))
        if constant and self.rng.random() < 0.7:
            self.constants.append(tensor)
        return tensor

    def dtype(self) -> str:
        """An element type of numbers, floats more often."""
        return self.rng.choice(FLOATS if self.rng.random() < 0.65 else INTEGERS)


def fill(value: float, like: Scalar) -> Scalar:
    """A number of the element type of an expression."""
    return literal(value if "float" in like.dtype else int(value), like.dtype)


def inside(index: Scalar, extent: int) -> Scalar:
    """Whether an index lies in 0 .. extent-1."""
    return binary("and", binary("ge", index, 0), binary("lt", index, extent))


def over(
    x: Tensor, axis: int, operation: str, value: Callable[[tuple[Scalar, ...]], Scalar]
) -> Tensor:
    k = Axis("k", x.shape[axis])
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return compute(
        operation,
        shape,
        lambda *at: reduce(operation, [k], value((*at[:axis], k, *at[axis:]))),
    )


def kept(reduced: Tensor, axis: int, at: Sequence[Scalar]) -> Scalar:
    return reduced[(*at[:axis], *at[axis + 1 :])]
