"""Statements on matrix registers, run one by one and as text."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from relay_tune.machine.pattern import BFLOAT16_PAIRS, Side
from relay_tune.tensor.expression import INDEX, Axis, Scalar, literal
from relay_tune.tensor.loops import Block, Buffer, BufferScope, Kernel, Loop
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.rename_axes import with_axes
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.touched import touched_tensors, written_buffers


def number(value: int) -> Scalar:
    return literal(value, INDEX)


LEFT = Buffer(name="left", shape=(5, 40), dtype="bfloat16", scope=BufferScope.ARGUMENT)
RIGHT = Buffer(name="right", shape=(2, 16, 32), dtype="bfloat16", scope=BufferScope.ARGUMENT)
RESULT = Buffer(name="result", shape=(5, 20), dtype="float32", scope=BufferScope.ARGUMENT)
STEP = Axis("step", 2)


def product() -> MatrixRegisters:
    """Rows 1 to 4 of the result, from column 3 on: of the left columns 4 to 35, twice."""
    zero = number(0)
    body = Block(
        (
            MatrixClear(0),
            Loop(
                STEP,
                zero,
                number(2),
                Block(
                    (
                        MatrixLoad(Side.LEFT, 1, LEFT, (number(1), STEP * 4), 40),
                        MatrixLoad(Side.RIGHT, 2, RIGHT, (STEP, zero, zero), 32),
                        MatrixMultiply(0, 1, 2),
                    )
                ),
            ),
            MatrixStore(0, RESULT, (number(1), number(3)), 20),
        )
    )
    return MatrixRegisters(BFLOAT16_PAIRS, (4, 4, 16, 0, 0, 0, 0, 0), body)


def test_statements_compute_a_product() -> None:
    rng = np.random.default_rng(0)
    left = rng.integers(-8, 9, LEFT.shape).astype(ml_dtypes.bfloat16)
    right = rng.integers(-8, 9, RIGHT.shape).astype(ml_dtypes.bfloat16)
    result = np.full(RESULT.shape, 7, np.float32)
    run_loops(product(), {LEFT: left, RIGHT: right, RESULT: result})
    expected = np.full(RESULT.shape, 7, np.float32)
    rows = left.astype(np.float32)[1:]
    # Row p of a right operand holds the elements (2 p, j) and (2 p + 1, j) beside each other.
    matrices = right.astype(np.float32).reshape(2, 16, 16, 2).transpose(0, 1, 3, 2)
    first, second = matrices.reshape(2, 32, 16)
    expected[1:, 3:19] = rows[:, :32] @ first + rows[:, 4:36] @ second
    np.testing.assert_array_equal(result, expected)


def test_what_statements_touch() -> None:
    assert touched_tensors(product()) == (LEFT, RIGHT, RESULT)
    assert list(written_buffers(product())) == [RESULT]


def test_statements_as_text() -> None:
    kernel = Kernel("k", (LEFT, RIGHT, RESULT), (LEFT, RIGHT, RESULT), product())
    assert kernel_text(kernel).splitlines()[1:] == [
        "  matrix registers of 4, 4, 16, 0, 0, 0, 0, 0 rows",
        "  m0 = 0",
        "  for step in 0 .. 2",
        "    m1 = left[1, step * 4] in rows 40 apart",
        "    m2 = right[step, 0, 0] in rows 32 apart",
        "    m0 += m1 * m2",
        "  result[1, 3] in rows 20 apart = m0",
    ]


def test_axes_of_their_places_can_be_replaced() -> None:
    body = MatrixRegisters(
        BFLOAT16_PAIRS, (1,) * 8, MatrixLoad(Side.LEFT, 1, LEFT, (STEP, number(0)), 40)
    )
    changed = with_axes(body, {STEP: number(3)})
    assert isinstance(changed, MatrixRegisters)
    assert kernel_text(Kernel("k", (LEFT,), (LEFT,), changed)).splitlines()[-1] == (
        "  m1 = left[3, 0] in rows 40 apart"
    )
    assert with_axes(MatrixMultiply(0, 1, 2), {STEP: number(3)}) is not None


@pytest.mark.parametrize(("row", "column"), [(2, 4), (1, 41), (-1, 0), (5, 0)])
def test_rows_outside_of_a_buffer_are_found(row: int, column: int) -> None:
    left = np.zeros(LEFT.shape, ml_dtypes.bfloat16)
    run_loops(MatrixRegisters(BFLOAT16_PAIRS, (4,) * 8, _at(1, 8)), {LEFT: left})
    with pytest.raises(IndexError, match="left"):
        run_loops(MatrixRegisters(BFLOAT16_PAIRS, (4,) * 8, _at(row, column)), {LEFT: left})


def _at(row: int, column: int) -> MatrixLoad:
    return MatrixLoad(Side.LEFT, 0, LEFT, (number(row), number(column)), 40)
