import numpy as np

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.running import program_of

ROWS_INSIDE, COLUMNS_INSIDE = (1, 0), (0, 1)


def loops_of(order, blocks=(1, 1), unroll=4, tile=(8, 16)):
    """The text of a product of 24 x 32 with 64 steps, with prefetch."""
    a, b = input_tensor("a", (24, 64), "float32"), input_tensor("b", (64, 32), "float32")
    k = Axis("k", 64)
    product = compute("p", (24, 32), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))
    weights = np.ones((64, 32), np.float32)
    plan = plan_program(program_of([product], {a: np.ones((24, 64), np.float32), b: weights}, [b]))
    choice = TileChoice(1, 16, tile, order, blocks, (0,), unroll, 0, prefetch=True)
    scheduled = apply_schedule(plan, Schedule((choice,)))
    return kernel_text(scheduled.kernels[0])


def products_of_inputs(tile, order):
    """The text of a product of 48 x 96 and 96 x 256, two inputs, with prefetch."""
    a, b = input_tensor("a", (48, 96), "float32"), input_tensor("b", (96, 256), "float32")
    k = Axis("k", 96)
    product = compute("p", (48, 256), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))
    ones = {a: np.ones((48, 96), np.float32), b: np.ones((96, 256), np.float32)}
    plan = plan_program(program_of([product], ones))
    copied = TileChoice(2, 16, (1, 1, 64), (1, 0, 2), (1, 1, 1), (), 1, 0)
    choice = TileChoice(2, 16, tile, order, (1, 1, 1), (0,), 4, 0, prefetch=True)
    scheduled = apply_schedule(plan, Schedule((copied, choice)))
    return kernel_text(scheduled.kernels[-1])


def test_a_share_of_the_next_panel_in_each_group_of_steps():
    text = loops_of(ROWS_INSIDE)
    # 64 lines of a panel, read by 3 tiles in 16 groups of steps: 2 for each, done after 11 groups.
    # They lie 33 lines apart, so that each half of the panel is a stream.
    assert "prefetch b_packed[0, 0, 1024 + j_t * 1024 + (i_t * 11 + k_o) * 16]" in text
    assert "prefetch b_packed[0, 0, 1024 + j_t * 1024 + (i_t * 11 + k_o) * 16 + 528]" in text
    assert "if k_o < 11" in text
    assert text.count("prefetch") == 2


def test_rows_where_the_tiles_beside_each_other_share_them():
    text = loops_of(COLUMNS_INSIDE)
    # 8 rows of 64 elements, 32 lines, read by 2 tiles in 16 groups of steps: 1 each, all groups.
    assert "prefetch a[512 + i_t * 512 + (j_t * 16 + k_o) * 16]" in text
    assert text.count("prefetch") == 1
    assert "if k_o" not in text


def test_columns_that_were_copied():
    text = products_of_inputs((6, 1, 64), order=(1, 0, 2))
    # 64 * 96 elements of a panel, 384 lines, read by 8 tiles in 24 groups: 2 each in 24 groups.
    offset = "6144 + jo_t * 6144 + ji_t * 64 + (i_t * 24 + k_o) * 16"
    assert f"prefetch b_panel[{offset}]" in text
    assert f"prefetch b_panel[{offset} + 3072]" in text


def test_pieces_of_rows_with_the_steps_that_read_them():
    text = products_of_inputs((6, 1, 32), order=(1, 2, 0))
    # 32 of 64 columns, 2 lines in each step: one for each of the first two of 8 tiles.
    offset = "32 + jo_t * 6144 + ji_t * 32 + i_t * 16"
    assert f"prefetch b_panel[{offset} + k_o * 4 * 64]" in text
    assert f"prefetch b_panel[{offset} + (k_o * 4 + 3) * 64]" in text
    assert text.count("prefetch") == 4
    assert "if i_t < 2" in text


def test_nothing_where_the_share_is_too_large_for_a_group():
    assert "prefetch" not in loops_of(ROWS_INSIDE, unroll=64)


def test_packed_weights_that_one_tile_reads():
    text = loops_of(ROWS_INSIDE, tile=(24, 16))
    # 64 lines of a panel, read by 1 tile in 16 groups of steps: 4 for each.
    assert "prefetch b_packed[0, 0, 1024 + j_t * 1024 + k_o * 16]" in text
    assert "prefetch b_packed[0, 0, 1024 + j_t * 1024 + k_o * 16 + 768]" in text
    assert text.count("prefetch") == 4
