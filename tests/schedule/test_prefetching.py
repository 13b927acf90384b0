import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule, plan_program
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.running import program_of

ROWS_INSIDE, COLUMNS_INSIDE = (1, 0), (0, 1)


def loops_of(order, blocks=(1, 1), unroll=4):
    """The text of a product of 24 x 32 with 64 steps, in tiles of 8 x 16, with prefetch."""
    a, b = input_tensor("a", (24, 64), "float32"), input_tensor("b", (64, 32), "float32")
    k = Axis("k", 64)
    product = compute("p", (24, 32), lambda i, j: reduce("sum", [k], a[i, k] * b[k, j]))
    weights = np.ones((64, 32), np.float32)
    plan = plan_program(program_of([product], {a: np.ones((24, 64), np.float32), b: weights}, [b]))
    choice = TileChoice(1, 16, (8, 16), order, blocks, (0,), unroll, 0, prefetch=True)
    scheduled = apply_schedule(plan, Schedule((choice,)))
    return kernel_text(scheduled.kernels[0])


def test_a_share_of_the_next_panel_in_each_group_of_steps():
    text = loops_of(ROWS_INSIDE)
    # 64 * 16 elements of a panel, read by 3 tiles in 16 groups of steps: 22 for each, 2 lines.
    assert "prefetch b_packed[0, 0, (j_t + 1) * 1024 + (i_t * 16 + k_o) * 22]" in text
    assert text.count("prefetch") == 2


@pytest.mark.parametrize(
    "change", [{"order": COLUMNS_INSIDE}, {"order": ROWS_INSIDE, "blocks": (3, 1)}]
)
def test_nothing_where_tiles_in_a_row_share_no_panel(change):
    assert "prefetch" not in loops_of(**change)


def test_nothing_where_the_share_is_too_large_for_a_group():
    assert "prefetch" not in loops_of(ROWS_INSIDE, unroll=64)
