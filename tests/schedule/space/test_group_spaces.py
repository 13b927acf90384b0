"""What the nests of a group are charged."""

import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.rows import ROWS
from tests.schedule.machines import SERVER
from tests.schedule.row_groups.test_groups import softmax_program


@pytest.mark.parametrize(
    ("rows", "threads", "repeats"), [(64, 1, 4.0), (70, 1, 4.375), (70, 2, 6.0), (70, 8, 8.0)]
)
def test_a_short_last_block_counts_its_rows_on_one_thread(rows, threads, repeats):
    plan = plan_program(softmax_program(rows, 100)).with_algorithm(ROWS(block=16))
    assert {space.repeats for space in plan.spaces(SERVER, threads)} == {repeats}
