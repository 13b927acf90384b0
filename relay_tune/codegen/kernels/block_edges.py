"""Forgets known memory contents where basic blocks meet."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.loops import Statement
from relay_tune.tensor.touched import written_buffers

Write = Callable[[Statement], None]
"""Writes a statement."""


@dataclass(frozen=True, slots=True)
class BlockEdges:
    """Keeps loads and held-back stores of `values` from crossing the edges of blocks."""

    values: ValueWriter

    def nested(self, body: Statement, write: Write) -> None:
        """Write a body in blocks of its own: nothing is held back or shared across its edges."""
        outer, self.values.loads.unrolled = self.values.loads.unrolled, {}
        write(body)
        self.values.loads.pending.flush()
        self.values.loads.unrolled = outer

    def crossed(self, body: Statement) -> None:
        """Loads from before and after must not be merged for buffers that `body` writes."""
        for buffer in written_buffers(body):
            self.written(buffer)

    def written(self, buffer: Tensor) -> None:
        """Loads of a buffer from before and after must not be merged."""
        versions = self.values.loads.versions
        versions[buffer] = versions.get(buffer, 0) + 1
