"""What an intrinsic computes: products of small matrices, summed in registers.

    result[i, j] += sum(k < steps) left[i, k] * right[k, j]        i < rows, j < columns

In memory, rows of the left operand are `steps` elements beside each other, at any distance; rows of
the right one have a group of steps for each column:

    right[k, j] at (k // group) * columns * group + j * group + k % group

Dot products of words run on the lanes of vectors instead. A word is 32 bits of narrow elements:

    result += sum(g < group) left[g] * right[g]            in each lane

Sums of integers are modulo 2^32, those of bfloat16 are rounded as float32.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from relay_tune.quick_dataclass import dataclass


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
        beside: the vector operations of an epilogue that are worth running beside an instruction,
            for each row of it: longer epilogues follow the products.
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
    beside: float

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
    beside=2.0,
)
"""Registers of 16 rows of 64 bytes: products of bfloat16, summed in float32."""


def _bytes_in_fours(left: str, right: str) -> TilePattern:
    """The same registers of bytes, whose products are summed in int32."""
    return replace(
        BFLOAT16_PAIRS,
        name=f"{left} x {right} matrices",
        left=left,
        right=right,
        result="int32",
        steps=64,
        group=4,
        beside=8.0,
    )


BYTE_MATRICES = {
    (left, right): _bytes_in_fours(left, right)
    for left, right in (("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8"))
}
"""By the dtypes of their operands."""


@dataclass(frozen=True, slots=True)
class WordPattern:
    """A dot product of two words, which is added to a sum of 32 bits.

    Attributes:
        name: of the operation on words (`relay_tune.tensor.expression`), and of its algorithm.
        left: the dtype of the elements of the left word; the lowest bits have the first one.
        right: that of the right one.
        bits: of an element.
        result: the dtype of the sum.
        most_pair: what the elements of each half of a right word, those of one sign, may add up to;
            0 if any may stand there.
        general: the name of the pattern with any elements there.
    """

    name: str
    left: str
    right: str
    bits: int
    result: str = "int32"
    most_pair: int = 0
    general: str = ""

    @property
    def group(self) -> int:
        """The elements of a word."""
        return WORD_BITS // self.bits

    @property
    def unit(self) -> str:
        """What computes it, as rates of machines are called."""
        return self.left.removeprefix("u")


WORD_BITS = 32

UNSIGNED_BY_SIGNED = WordPattern("dot_u8s8", "uint8", "int8", 8)
SIGNED_BYTES = WordPattern("dot_s8s8", "int8", "int8", 8)
UNSIGNED_BYTES = WordPattern("dot_u8u8", "uint8", "uint8", 8)
BOUNDED_BYTES = WordPattern(
    "dot_u8s8_bounded", "uint8", "int8", 8, most_pair=128, general=UNSIGNED_BY_SIGNED.name
)
"""Two products add up to at most 128 * 255, which an int16 holds."""

PAIRS = WordPattern("dot_s16s16", "int16", "int16", 16)
BFLOAT16_WORDS = WordPattern("dot_b16b16", "bfloat16", "bfloat16", 16, "float32")

INTEGER_PATTERNS = (UNSIGNED_BY_SIGNED, SIGNED_BYTES, UNSIGNED_BYTES, BOUNDED_BYTES, PAIRS)

WORD_PATTERNS = (*INTEGER_PATTERNS, BFLOAT16_WORDS)
"""Those that algorithms bring sums of products to."""


@dataclass(frozen=True, slots=True)
class WordSteps:
    """The instructions and registers of a dot product that is several instructions.

    Attributes:
        instructions: of all; one that multiplies and adds is 1.
        registers: beside those of sums and operands.
    """

    instructions: int
    registers: int


JOINED = WordSteps(1, 0)
"""One instruction does it."""
