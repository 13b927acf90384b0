"""Arrays that are computed when their elements are wanted.

Planning asks constants for their shapes and element types only. What an algorithm makes of weights,
such as transformed taps, is computed for the algorithm that is chosen, and not kept twice.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.scalar_semantics import Array, numpy_dtype


@dataclass(frozen=True, eq=False, slots=True)
class DeferredArray:
    """An array by its shape, its element type, and how to compute it.

    Each call of `compute` gives a new array.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    compute: Callable[[], Array]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize


ConstantData: TypeAlias = Array | DeferredArray
"""The known facts of a constant."""


def deferred(shape: tuple[int, ...], dtype: str, compute: Callable[[], Array]) -> DeferredArray:
    """The array of a shape and an element type that `compute` gives."""
    return DeferredArray(shape, numpy_dtype(dtype), compute)


def array_of(data: ConstantData) -> Array:
    """The elements; computed now where they are deferred."""
    return data.compute() if isinstance(data, DeferredArray) else data
