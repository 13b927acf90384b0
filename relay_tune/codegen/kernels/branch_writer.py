"""Writes code under conditions: branches, and loops with a computed end."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.kernels.block_edges import BlockEdges, Write
from relay_tune.codegen.kernels.carried_registers import CarriedRegisters
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.loops import Branch, While


@dataclass(frozen=True, slots=True)
class BranchWriter:
    """Writes such statements, their bodies with `write`."""

    values: ValueWriter
    carried: CarriedRegisters
    edges: BlockEdges
    write: Write

    def branch(self, node: Branch) -> None:
        """Write a branch; only the side that is taken where that is known."""
        decided = self.values.indices.decide(node.condition)
        if decided is not None:
            chosen = node.then if decided else node.otherwise
            if chosen is not None:
                self.write(chosen)
            return
        w = self.values.writer
        self.values.loads.pending.flush()
        condition = self.values.evaluate(node.condition)
        sides: list[tuple[dict[Tensor, dict[int, Value]], str]] = []
        before = {buffer: dict(cells) for buffer, cells in self.values.loads.registers.items()}
        for name in w.sides(condition.text, "if", "then", "else"):
            self.values.loads.registers = {buffer: dict(cells) for buffer, cells in before.items()}
            side = node.then if name == "then" else node.otherwise
            if side is not None:
                self.edges.nested(side, self.write)
            sides.append((self.values.loads.registers, w.block))
        self.values.loads.registers = self.carried.merged(before, sides)
        self.edges.crossed(node)

    def repeat(self, node: While) -> None:
        """Write a loop that runs while a condition holds."""
        w = self.values.writer
        self.values.loads.pending.flush()
        label = w.label("while")
        w.line(f"br label %{label}")
        w.start_block(label)
        self.edges.crossed(node)
        with w.scope():
            condition = self.values.evaluate(node.condition)
            w.line(f"br i1 {condition.text}, label %{label}.body, label %{label}.end")
            w.start_block(f"{label}.body")
            self.edges.nested(node.body, self.write)
        w.line(f"br label %{label}")
        w.start_block(f"{label}.end")
        self.edges.crossed(node)
