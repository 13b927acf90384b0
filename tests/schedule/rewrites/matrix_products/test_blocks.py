"""Which products run in blocks of rows, and what is in a block."""

import pytest

from relay_tune.frontend.relay_text import parse
from relay_tune.op.lower import lower_function
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.matrix_products.blocks import (
    BLOCK_ROWS,
    FAR_BYTES,
    FEW_BLOCK_ROWS,
    block_rows,
)
from relay_tune.schedule.rewrites.matrix_products.record import BF16_MATRICES, BF16X3, TWO_PARTS
from relay_tune.schedule.row_groups.row_blocks import MAXIMUM_LOCAL_BYTES, RowBlocks
from relay_tune.tensor.program import TensorProgram
from relay_tune.typing.infer import infer_types
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import TILES
from tests.schedule.products import dense


@pytest.mark.parametrize(("rows", "is_far"), [(FAR_BYTES // 1024, True), (500, False)])
def test_parts_that_outgrow_the_second_cache_are_far(rows: int, is_far: bool) -> None:
    program = dense(rows, 256, 64)
    assert list(block_rows(program, TWO_PARTS, False)) == [BLOCK_ROWS] * is_far
    offered = BF16X3(block=BLOCK_ROWS) in plan_program(program).algorithms
    assert offered == is_far


def test_windows_are_blocks_where_they_are_gathered() -> None:
    program = convolution_program((8, 28, 28, 64, 64))
    assert not list(block_rows(program, TWO_PARTS, False))
    assert list(block_rows(program, TWO_PARTS, True)) == [BLOCK_ROWS]


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


@pytest.mark.parametrize(("keys", "is_far"), [(1120, True), (800, False)])
def test_shares_of_attention_stay_near(keys: int, is_far: bool) -> None:
    program = attention(keys, keys)
    blocks = BF16_MATRICES(block=FEW_BLOCK_ROWS)
    assert (blocks in plan_program(program).algorithms) == is_far
    steps = plan_program(program, blocks).steps
    (group,) = (step for step in steps if isinstance(step, RowBlocks))
    assert [nest.pattern is not None for nest in group.nests].count(True) == len(group.nests)
    assert len(steps) == 3  # keys and values come first


def attention(queries: int, keys: int, heads: int = 1) -> TensorProgram:
    """Shares of values of bfloat16 by a softmax of scores."""
    text = (
        f"(%q: Tensor[({heads}, {queries}, 64), bfloat16], "
        f"%k: Tensor[({heads}, {keys}, 64), bfloat16], %v: Tensor[({heads}, {keys}, 64), bfloat16])"
    )
    scores = "nn.softmax(nn.batch_matmul(%q, %k))"
    body = f"nn.batch_matmul({scores}, %v, transpose_b=False)"
    return lower_function(infer_types(parse(f"def @main{text} {{ {body} }}")).main)


def test_values_in_groups_are_made_along_their_columns() -> None:
    """These are 16, where heads are 256: vectors along heads scatter all that they store."""
    plan = plan_program(attention(64, 64, heads=256), BF16_MATRICES())
    _, schedule = plan.default_under_algorithm(TILES, 1)
    *_, (nest, choice) = (
        each for each in zip(plan.nests, schedule.choices, strict=True) if each[0].name == "groups"
    )
    assert nest.axes[choice.vector].extent == 16
