"""Values over the lanes of the vector loop around the current statement."""

from __future__ import annotations

from dataclasses import field

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.llvm_types import value_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.size import is_symbolic

LANE = "lane"
"""The variable of affine forms that stands for the lane of the vector loop."""


@dataclass(slots=True)
class VectorContext:
    """A vector loop: its lanes (0 outside of one), how many of them count, their mask."""

    lanes: int = 0
    active: int = 0
    mask: str | None = None


@dataclass(slots=True)
class VectorLanes:
    """Spreads scalars over lanes, and says which lanes count.

    Attributes:
        writer: where instructions go.
        vector: the vector loop around; statements replace it.
    """

    writer: FunctionWriter
    vector: VectorContext = field(default_factory=VectorContext)
    _arithmetic: dict[tuple[str, int], Arithmetic] = field(default_factory=dict)

    def arithmetic(self, dtype: str, lanes: int) -> Arithmetic:
        """Instructions for values of a shape."""
        shape = (dtype, lanes)
        if shape not in self._arithmetic:
            self._arithmetic[shape] = Arithmetic(self.writer, dtype, lanes)
        return self._arithmetic[shape]

    def spread(self, value: Value) -> Value:
        """A scalar repeated over the lanes; a vector as it is."""
        lanes = self.vector.lanes
        if value.lanes or not lanes:
            return value
        element = value_type(value.dtype)
        if not value.text.startswith("%"):
            return Value(f"splat ({element} {value.text})", value.dtype, lanes)
        return Value(self.writer.spread(element, value.text, lanes), value.dtype, lanes)

    def together(self, *values: Value) -> tuple[int, list[str]]:
        """Values with the same lanes: vectors if any of them is one."""
        lanes = max(value.lanes for value in values)
        if lanes:
            return lanes, [self.spread(value).text for value in values]
        return 0, [value.text for value in values]

    def mask(self) -> str | None:
        """The mask of memory accesses, or None where all lanes count."""
        if self.vector.mask is not None:
            return self.vector.mask
        if self.vector.active == self.vector.lanes:
            return None
        if is_symbolic(self.vector.active):
            return self.writer.start_mask(self.vector.active, self.vector.lanes)
        return self.first_lanes(self.vector.active)

    def first_lanes(self, count: int) -> str:
        """The mask of so many lanes."""
        lanes = range(self.vector.lanes)
        return "<" + ", ".join(f"i1 {'true' if n < count else 'false'}" for n in lanes) + ">"
