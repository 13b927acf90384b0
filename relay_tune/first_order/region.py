"""Kernels that run one after the other in memory that is planned ahead.

    (x) -> {  a = conv(x);  b = softmax(reshape(a));  b  }

A region reads buffers of its caller and fills others; what is between lives in one workspace. A
reshape is another view of the same buffer, a slice may be a part of one; the fields of a
concatenation along the outermost axis are computed in parts of its buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.ir.types import TensorType


class Origin(Enum):
    """Where the content of a buffer comes from."""

    INPUT = "input"
    CONSTANT = "constant"
    COMPUTED = "computed"


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """The memory of a tensor of fixed shape and of all views of it; `data` of constants only."""

    type: TensorType
    origin: Origin
    data: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return buffer_bytes(self.type)


def buffer_bytes(type_: TensorType) -> int:
    """The bytes of the elements of a tensor of known shape."""
    elements = prod(dim for dim in type_.shape if isinstance(dim, int))
    return elements * DTYPES[type_.dtype].itemsize


@dataclass(frozen=True, slots=True)
class Part:
    """Where a buffer lies in another one: so many bytes from its begin."""

    whole: Buffer
    offset: int


@dataclass(frozen=True, eq=False, slots=True)
class KernelRun:
    """One run of a primitive function; tuples are flattened."""

    function: Function
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """Kernels in the order in which they run.

    Attributes:
        inputs: the buffers that it reads.
        outputs: the buffers that it fills: computed, and no two the same.
        runs: the kernels.
        parts: the buffers that lie in others, which lie in none.
    """

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    runs: tuple[KernelRun, ...]
    parts: Mapping[Buffer, Part]

    def located(self, buffer: Buffer) -> Part:
        """The buffer of its own memory that a buffer lies in, and where."""
        return self.parts.get(buffer, Part(buffer, 0))
