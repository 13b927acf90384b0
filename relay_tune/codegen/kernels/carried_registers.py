"""Registers across blocks: phi nodes for the cells that loops and branches change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.load_writer import LoadWriter
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.loops import Statement
from relay_tune.tensor.touched import stores_of

Cell = tuple[Tensor, int]
Registers = dict[Tensor, dict[int, Value]]
Initial = Mapping[Cell, tuple[str, Value]]
"""For each cell that a loop carries: its name inside of the loop, and its value before it."""


@dataclass(frozen=True, slots=True)
class CarriedRegisters:
    """Keeps the cells of `loads` right where blocks meet."""

    writer: FunctionWriter
    loads: LoadWriter

    def enter(self, body: Statement) -> Initial:
        """Replace the cells that the body of a loop writes by the names of phi nodes."""
        written = {store.buffer for store in stores_of(body)}
        initial: dict[Cell, tuple[str, Value]] = {}
        for buffer in [buffer for buffer in self.loads.registers if buffer in written]:
            cells = self.loads.registers[buffer]
            for cell, value in cells.items():
                initial[buffer, cell] = (self.writer.fresh("acc"), value)
            self.loads.registers[buffer] = {
                cell: replace(value, text=initial[buffer, cell][0]) for cell, value in cells.items()
            }
        return initial

    def phi_lines(self, initial: Initial, before: str, latch: str) -> list[str]:
        """The phi nodes at the beginning of a loop, by the blocks before it and at its end."""
        return [
            f"  {name} = {self._phi(cell, start, before, latch)}"
            for cell, (name, start) in initial.items()
        ]

    def leave(self, initial: Initial, before: str, latch: str) -> None:
        """Write the cells after a loop that may not have run."""
        for (buffer, cell), (_, start) in initial.items():
            name = self.writer.fresh("left")
            self.writer.line(f"{name} = {self._phi((buffer, cell), start, before, latch)}")
            last = self.loads.registers[buffer][cell]
            self.loads.registers[buffer][cell] = replace(last, text=name)

    def _phi(self, cell: Cell, start: Value, before: str, latch: str) -> str:
        last = self.loads.registers[cell[0]][cell[1]]
        return f"phi {last.llvm_type} [ {start.text}, %{before} ], [ {last.text}, %{latch} ]"

    def merged(self, before: Registers, sides: Sequence[tuple[Registers, str]]) -> Registers:
        """The registers after a branch, by the two sides and the blocks at their ends."""
        (then, then_block), (otherwise, else_block) = sides
        merged: Registers = {}
        for buffer in before:
            merged[buffer] = {}
            for cell, value in then[buffer].items():
                other = otherwise[buffer].get(cell, value)
                if other.text == value.text:
                    merged[buffer][cell] = value
                    continue
                name = self.writer.fresh("phi")
                self.writer.line(
                    f"{name} = phi {value.llvm_type} [ {value.text}, %{then_block} ], "
                    f"[ {other.text}, %{else_block} ]"
                )
                merged[buffer][cell] = replace(value, text=name)
        return merged
