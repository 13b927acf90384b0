"""Loads of lanes that lie apart, by whole vectors where that takes fewer instructions.

every second element       two vectors, and the even lanes of both
a column of a matrix       rows of several columns that are wanted, transposed
anything else              lane by lane
"""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.transposing import joined, shuffled, transposed
from relay_tune.codegen.llvm_types import memory_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.lane_rows import MOST_SKIPPED


@dataclass(frozen=True, slots=True)
class Lanes:
    """The shape of a vector access: lanes, how many of them count, elements between two of them."""

    lanes: int
    active: int
    stride: int

    @property
    def can_skip(self) -> bool:
        """Whether the lanes lie close together, over the length of a whole vector at least."""
        reach = (self.active - 1) * self.stride
        return 1 < self.stride <= MOST_SKIPPED and reach >= self.lanes - 1


@dataclass(frozen=True, slots=True)
class StridedLoads:
    """Writes such loads, in the form that elements have in memory.

    Elements are converted after they are moved: fewer bits move, and LLVM 22 for x86-64 shuffles
    two vectors that were extended from halves as if it shuffled before the extension.

    Attributes:
        writer: where instructions go.
        load: neighbouring elements from an offset on, as they are stored; 0 of them are a scalar.
        value: what stored elements of a tensor stand for.
    """

    writer: FunctionWriter
    load: Callable[[Tensor, Affine, int], str]
    value: Callable[[Tensor, str, int], Value]

    def skipping(self, tensor: Tensor, start: Affine, shape: Lanes) -> Value:
        """Lanes picked out of whole vectors, none of which reaches past the last lane."""
        lanes, last = shape.lanes, (shape.active - 1) * shape.stride
        each = (lanes - 1) // shape.stride + 1
        text = "poison"
        for first in range(0, shape.active, each):
            begin = min(first * shape.stride, last + 1 - lanes)
            window = self.load(tensor, start.shift(begin), lanes)
            order = [
                lanes + lane * shape.stride - begin if first <= lane < first + each else lane
                for lane in range(shape.active)
            ]
            order += [0] * (lanes - len(order))
            pair = (text, window)
            text = shuffled(self.writer, memory_type(tensor.dtype), lanes, pair, order)
        return self.value(tensor, text, lanes)

    def columns(self, tensor: Tensor, start: Affine, shape: Lanes, size: int) -> list[str]:
        """The elements at each position in rows of `size`, one row for each lane, as stored."""
        rows = [
            self.load(tensor, start.shift(lane * shape.stride), size)
            if lane < shape.active
            else "poison"
            for lane in range(shape.lanes)
        ]
        element = memory_type(tensor.dtype)
        vectors = [joined(self.writer, element, size, rows[n::size]) for n in range(size)]
        return transposed(self.writer, element, shape.lanes, vectors)

    def one_by_one(self, tensor: Tensor, start: Affine, shape: Lanes) -> Value:
        """Each lane by itself; lanes that do not count are 0."""
        kind, element = memory_type(tensor.dtype, shape.lanes), memory_type(tensor.dtype)
        text = "zeroinitializer"
        for lane in range(shape.active):
            stored = self.load(tensor, start.shift(shape.stride * lane), 0)
            text = self.writer.pure(f"insertelement {kind} {text}, {element} {stored}, i64 {lane}")
        return self.value(tensor, text, shape.lanes)
