"""Which products run in blocks of rows, and what is in a block."""

import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.matrix_products.blocks import FAR_BYTES, splits_far_rows
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BLOCK_ROWS, TWO_PARTS
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from tests.schedule.convolutions import convolution_program
from tests.schedule.products import dense


@pytest.mark.parametrize(("rows", "is_far"), [(FAR_BYTES // 1024, True), (500, False)])
def test_parts_that_outgrow_the_second_cache_are_far(rows: int, is_far: bool) -> None:
    program = dense(rows, 256, 64)
    assert splits_far_rows(program, TWO_PARTS, False) == is_far
    offered = BF16X3(block=BLOCK_ROWS) in plan_program(program).algorithms
    assert offered == is_far


def test_windows_are_blocks_where_they_are_gathered() -> None:
    program = convolution_program((8, 28, 28, 64, 64))
    assert not splits_far_rows(program, TWO_PARTS, False)
    assert splits_far_rows(program, TWO_PARTS, True)


def test_a_block_splits_rows_and_multiplies_them() -> None:
    plan = plan_program(dense(2100, 256, 64), BF16X3(block=BLOCK_ROWS))
    (group,) = (step for step in plan.steps if isinstance(step, RowBlocks))
    assert [nest.pattern is not None for nest in group.nests] == [True, True]
    ((size,),) = (buffer.shape for buffer in group.buffers)
    assert BLOCK_ROWS * 2 * 256 <= size < BLOCK_ROWS * 2 * 300
    assert (group.whole, group.at_end) == (2100 // BLOCK_ROWS, 1)


def test_rows_without_room_stay_apart() -> None:
    steps = MAXIMUM_LOCAL_BYTES // BLOCK_ROWS // 4 + 32
    plan = plan_program(dense(2100, steps, 64), BF16X3(block=BLOCK_ROWS))
    assert not any(isinstance(step, RowBlocks) for step in plan.steps)
