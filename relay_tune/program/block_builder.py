"""Writing basic blocks one after the other."""

from __future__ import annotations

from relay_tune.program.instructions import Instruction, Register
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.program import Block
from relay_tune.program.terminators import Jump, Terminator, TestLayout


class BlockBuilder:
    """The blocks of a function under construction; the first one is open from the start.

    Blocks must be started in topological order.
    """

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._parameters: dict[int, tuple[Register, ...]] = {}
        self._instructions: list[Instruction] = []
        self._label = self.new_label()

    def new_label(self, parameters: tuple[Register, ...] = ()) -> int:
        """The label of a block that is started later."""
        label = len(self._parameters)
        self._parameters[label] = parameters
        return label

    def parameters_of(self, label: int) -> tuple[Register, ...]:
        """The parameters of a block."""
        return self._parameters[label]

    def emit(self, instruction: Instruction) -> None:
        """Add an instruction to the open block."""
        self._instructions.append(instruction)

    def end(self, terminator: Terminator) -> None:
        """Close the open block."""
        parameters = self._parameters[self._label]
        self._blocks.append(Block(self._label, parameters, tuple(self._instructions), terminator))
        self._instructions = []

    def reached(self) -> tuple[Block, ...]:
        """The blocks that a run may come to, in order.

        What follows a match of which every clause fails, as one without clauses, is no block of
        the function: nothing there is defined on the way.
        """
        labels: set[int] = {self._blocks[0].label}
        found: list[Block] = []
        for block in self._blocks:
            if block.label in labels:
                found.append(block)
                labels.update(block.terminator.targets)
        return tuple(found)

    def start(self, label: int) -> None:
        """Open a block; the one before must be closed."""
        self._label = label

    def require_layout(self, object_: Register, layout: ObjectLayout, otherwise: int) -> None:
        """Go on only if an object has a layout, else with the block `otherwise`."""
        fits, fails = self.new_label(), self.new_label()
        self.end(TestLayout(object_, layout, fits, fails))
        self.start(fails)
        self.end(Jump(otherwise))
        self.start(fits)
