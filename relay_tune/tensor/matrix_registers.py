"""Statements on registers that hold small matrices, of which an intrinsic makes products.

    statement ::= matrix registers of some rows { .. } | clear register
                | register = rows of buffer from [value, ...] | rows of buffer from [..] = register
                | register += left * right

What a row of a register holds, and what a product sums, says the pattern
(`relay_tune.machine.pattern`).
"""

from __future__ import annotations

from relay_tune.machine.pattern import Side, TilePattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor
from relay_tune.tensor.loops import Statement


@dataclass(frozen=True, eq=False, slots=True)
class MatrixRegisters(Statement):
    """Registers during `body`; those that stand inside take their place there.

    Attributes:
        pattern: what they are for.
        rows: of each of them; all that are no numbers are one size.
        body: what uses them.
        lengths: the elements in a row of each of them; 0 where rows are whole, which all are where
            it is empty. Those of left operands may be shorter.
    """

    pattern: TilePattern
    rows: tuple[int, ...]
    body: Statement
    lengths: tuple[int, ...] = ()

    def length(self, register: int, side: Side | None) -> int:
        """The elements in a row of a register with an operand, or a result."""
        own = self.lengths[register] if self.lengths else 0
        return own or self.pattern.row_elements(side)


@dataclass(frozen=True, eq=False, slots=True)
class MatrixClear(Statement):
    """All elements of a register are zero."""

    register: int


@dataclass(frozen=True, eq=False, slots=True)
class MatrixLoad(Statement):
    """The rows of an operand are those from `buffer[indices]` on, `stride` elements apart."""

    side: Side
    register: int
    buffer: Tensor
    indices: tuple[Scalar, ...]
    stride: int


@dataclass(frozen=True, eq=False, slots=True)
class MatrixStore(Statement):
    """The rows of a register go where those of a load come from."""

    register: int
    buffer: Tensor
    indices: tuple[Scalar, ...]
    stride: int


@dataclass(frozen=True, eq=False, slots=True)
class MatrixMultiply(Statement):
    """`into += left * right`, of three registers."""

    into: int
    left: int
    right: int
