"""Kernels that run one after the other in memory that is planned ahead.

    (x) -> {  a = conv(x);  b = softmax(reshape(a));  b  }

A region reads buffers of its caller and fills others; what is between lives in one workspace. A
reshape is another view of the same buffer, a slice may be a part of one; the fields of a
concatenation along the outermost axis are computed in parts of its buffer.

Sizes may be expressions of symbols that are read from the shapes of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

import numpy as np

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import is_sum_of_sizes, multiply, product
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.ir.types import TensorType
from relay_tune.program.size_naming import SizeSource
from relay_tune.quick_dataclass import dataclass


class Origin(Enum):
    """Where the content of a buffer comes from."""

    INPUT = "input"
    CONSTANT = "constant"
    COMPUTED = "computed"


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """The memory of a tensor and of all views of it; `data` of constants only."""

    type: TensorType
    origin: Origin
    data: np.ndarray | None = None

    @property
    def size(self) -> Dim:
        """Bytes."""
        return multiply(product(self.type.shape), DTYPES[self.type.dtype].itemsize)

    @property
    def known_size(self) -> int:
        """Bytes; none where that is known at run time only."""
        return self.size if isinstance(self.size, int) else 0


@dataclass(frozen=True, slots=True)
class Part:
    """Where a buffer lies in another one: so many bytes from its begin."""

    whole: Buffer
    offset: int


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """A size that must be as wanted, or no less than 0 where that is None; else a message."""

    value: Dim
    wanted: Dim | None
    message: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is so in any case."""
        return is_sum_of_sizes(self.value) if self.wanted is None else self.value == self.wanted


@dataclass(frozen=True, eq=False, slots=True)
class KernelRun:
    """One run of a primitive function; tuples are flattened. `sizes` are those of its symbols."""

    function: Function
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    sizes: Mapping[str, Dim] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """Kernels in the order in which they run.

    Attributes:
        inputs: the buffers that it reads.
        outputs: the buffers that it fills: computed, and no two the same.
        runs: the kernels.
        parts: the buffers that lie in others, which lie in none.
        symbols: where the symbols in its sizes are read: axes of its inputs.
        shapes: those of its outputs, where there are symbols.
        checks: what sizes must be before anything runs.
    """

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    runs: tuple[KernelRun, ...]
    parts: Mapping[Buffer, Part]
    symbols: Mapping[str, SizeSource] = field(default_factory=dict)
    shapes: tuple[tuple[Dim, ...], ...] = ()
    checks: tuple[SizeCheck, ...] = ()

    @property
    def is_dynamic(self) -> bool:
        """Whether a run tells some of its sizes."""
        return bool(self.symbols) or any(run.sizes for run in self.runs)

    @property
    def between(self) -> dict[Buffer, None]:
        """The buffers that are planned: computed, of their own memory, and no outputs."""
        buffers = (each for run in self.runs for each in (*run.inputs, *run.outputs))
        wholes = dict.fromkeys(self.located(buffer).whole for buffer in buffers)
        outputs = set(self.outputs)
        return {b: None for b in wholes if b.origin is Origin.COMPUTED and b not in outputs}

    def located(self, buffer: Buffer) -> Part:
        """The buffer of its own memory that a buffer lies in, and where."""
        return self.parts.get(buffer, Part(buffer, 0))
