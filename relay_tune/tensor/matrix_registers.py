"""Statements on matrix registers: rows of 64 bytes, multiplied 16 rows at a time.

    statement ::= matrix registers of some rows { .. } | clear register
                | register = rows of buffer from [value, ...] | rows of buffer from [..] = register
                | register += left * right

A register has up to 16 rows. A left operand holds 32 bfloat16 of a row, a right one pairs of them:
row p of it has the elements (2 p, j) and (2 p + 1, j) of a 32 x 16 matrix at 2 j and 2 j + 1. Their
product, 16 x 16, is summed in float32 (Intel 64 and IA-32 Architectures Software Developer's
Manual, volume 1, chapter 18, AMX).
"""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.tensor.expression import Scalar, Tensor
from relay_tune.tensor.loops import Statement

REGISTERS = 8
ROWS = 16
"""The most rows of a register."""
ROW_BYTES = 64
STEPS = 32
"""What a multiplication reduces over."""
COLUMNS = 16
"""Of a product."""


@dataclass(frozen=True, eq=False, slots=True)
class MatrixRegisters(Statement):
    """`rows` gives the rows of each register during `body`; no others stand inside."""

    rows: tuple[int, ...]
    body: Statement


@dataclass(frozen=True, eq=False, slots=True)
class MatrixClear(Statement):
    """All elements of a register are zero."""

    register: int


@dataclass(frozen=True, eq=False, slots=True)
class MatrixLoad(Statement):
    """The rows of a register are those from `buffer[indices]` on, `stride` elements apart."""

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
