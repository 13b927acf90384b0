"""What an intrinsic computes: products of small matrices, summed in registers.

    result[i, j] += sum(k < steps) left[i, k] * right[k, j]        i < rows, j < columns

In memory, rows of the left operand are `steps` elements beside each other, at any distance; rows of
the right one have a group of steps for each column:

    right[k, j] at (k // group) * columns * group + j * group + k % group

A dot product of vectors in fours is such a product with one row:
`TilePattern("bytes in fours", "uint8", "int8", "int32", rows=1, columns=16, steps=4, group=4, ..)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Side(Enum):
    """Which operand of a product."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class TilePattern:
    """The form of a product that a nest can be matched with, whatever machine has it.

    Attributes:
        name: of what computes it, as tuning logs have it.
        title: of its registers, in messages.
        left: the dtype of the left operand.
        right: that of the right one.
        result: that of the sums.
        rows: the most rows of a register with results or left operands.
        columns: those of a register with results.
        steps: what one instruction sums.
        group: how many of these lie beside each other in the right operand.
        registers: how many there are for results and operands together.
        most_tile: the registers along the rows and the columns of a tile of results, of which more
            leave no room for operands.
    """

    name: str
    title: str
    left: str
    right: str
    result: str
    rows: int
    columns: int
    steps: int
    group: int
    registers: int
    most_tile: tuple[int, int]

    @property
    def right_rows(self) -> int:
        """The rows of a register with a right operand."""
        return self.steps // self.group

    @property
    def operations(self) -> int:
        """The arithmetic operations of one instruction: a product that is summed is two."""
        return 2 * self.rows * self.columns * self.steps

    def row_elements(self, side: Side | None) -> int:
        """The elements in a row of an operand's register, or of a result's."""
        match side:
            case Side.LEFT:
                return self.steps
            case Side.RIGHT:
                return self.columns * self.group
            case None:
                return self.columns


BFLOAT16_PAIRS = TilePattern(
    name="bfloat16 matrices",
    title="matrix registers",
    left="bfloat16",
    right="bfloat16",
    result="float32",
    rows=16,
    columns=16,
    steps=32,
    group=2,
    registers=8,
    most_tile=(5, 3),
)
"""Registers of 16 rows of 64 bytes: products of bfloat16, summed in float32."""
