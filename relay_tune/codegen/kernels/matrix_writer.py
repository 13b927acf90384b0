"""Statements on registers of intrinsics, each written as the record of the intrinsic says."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.errors import BuildError
from relay_tune.machine.intrinsic import Emission, Intrinsic
from relay_tune.machine.pattern import TilePattern
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.size import is_symbolic


class MatrixWriter:
    """Writes such statements with the addresses of a ValueWriter.

    Raises BuildError where the target has no intrinsic of a pattern.
    """

    def __init__(self, values: ValueWriter, intrinsics: Sequence[Intrinsic]) -> None:
        self._values = values
        self._emissions = {each.pattern: each.emission for each in intrinsics}
        self._emission: Emission
        self._open: list[MatrixRegisters] = []

    def begin(self, node: MatrixRegisters) -> None:
        """Write what comes before the first use of the registers."""
        self._open.append(node)
        self._emission = self._of_pattern(node.pattern)
        element = BYTES[node.pattern.left]
        widths = tuple(length * element for length in node.lengths)
        writer = self._values.writer
        rows = tuple(writer.size(each) if is_symbolic(each) else each for each in node.rows)
        self._emission.begin(writer, rows, widths)

    def end(self) -> None:
        """Write what comes after the last use: the registers around these are as they were."""
        self._open.pop()
        if self._open:
            self.begin(self._open.pop())
        else:
            self._emission.end(self._values.writer)

    def clear(self, node: MatrixClear) -> None:
        """Write zeros."""
        self._emission.clear(self._values.writer, node.register)

    def load(self, node: MatrixLoad) -> None:
        """Write a load."""
        pointer, stride = self._rows(node)
        self._emission.load(self._values.writer, node.side, node.register, pointer, stride)

    def store(self, node: MatrixStore) -> None:
        """Write a store."""
        pointer, stride = self._rows(node)
        self._emission.store(self._values.writer, node.register, pointer, stride)

    def multiply(self, node: MatrixMultiply) -> None:
        """Write a product."""
        self._emission.multiply(self._values.writer, node.into, node.left, node.right)

    def _rows(self, node: MatrixLoad | MatrixStore) -> tuple[str, str]:
        """The address of the first row, and the bytes from one to the next."""
        values, element = self._values, BYTES[node.buffer.dtype]
        offset = values.indices.flat_offset(node.buffer, node.indices)
        assert isinstance(offset, Affine)
        pointer = values.writer.address(values.loads.pointers[node.buffer], offset, element)
        return pointer, values.writer.size(node.stride * element)

    def _of_pattern(self, pattern: TilePattern) -> Emission:
        found = self._emissions.get(pattern)
        if found is None:  # LLVM would end the process
            raise BuildError(
                f"The schedule uses {pattern.title}, which the target does not have.",
                remedy="Use a schedule that was found for this target, or none.",
            )
        return found
