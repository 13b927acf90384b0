"""What the nests of a group are charged."""

from math import inf

import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3_SUMS
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.weight_panels.record import PANELS
from relay_tune.schedule.space.choice_cost import ChoiceCost
from relay_tune.schedule.space.default_choice import default_choice
from tests.schedule import products
from tests.schedule.machines import SERVER, TILES
from tests.schedule.rewrites.matrix_products.test_long_sums import weight_gradient
from tests.schedule.row_groups.test_groups import softmax_program


@pytest.mark.parametrize(
    ("rows", "threads", "repeats"), [(64, 1, 4.0), (70, 1, 4.375), (70, 2, 6.0), (70, 8, 8.0)]
)
def test_a_short_last_block_counts_its_rows_on_one_thread(rows, threads, repeats):
    plan = plan_program(softmax_program(rows, 100)).with_algorithm(ROWS(block=16))
    assert {space.repeats for space in plan.spaces(SERVER, threads)} == {repeats}


def test_nests_of_a_group_are_chosen_for_any_number_of_threads():
    plan = plan_program(softmax_program(64, 100)).with_algorithm(ROWS(block=8))
    for one, four in zip(plan.spaces(SERVER, 1), plan.spaces(SERVER, 4), strict=True):
        assert one.repeats == four.repeats > 0
        choice = default_choice(four)
        costs = (ChoiceCost(space, choice).below(inf) for space in (one, four))
        assert default_choice(one) == choice
        assert len(set(costs)) == 1


def test_what_a_product_asks_for_is_charged_there_and_near_for_the_copies():
    plan = plan_program(weight_gradient(32, 56, 64, 256), BF16X3_SUMS(steps=128))
    *copies, product, _ = plan.spaces(TILES, 1)
    asked = dict(product.analysis.near.asked_for)
    part = 4 * 112 * 64, 4 * 112 * 256
    assert asked == {bytes_of: 32 * 56 * 56 // 112 * bytes_of for bytes_of in part}
    for space in copies:
        assert not space.analysis.near.asked_for
        assert all(access.is_near for access in space.analysis.result_accesses)


def test_the_weights_of_the_next_panel_come_beside_the_products():
    plan = plan_program(products.narrow(128, 768, 96), PANELS(columns=48))
    conversion, product = plan.spaces(SERVER, 1)
    assert product.analysis.near.asked_for == ((2 * 48 * 768, 2 * 96 * 768),)
    assert all(access.is_near for access in conversion.analysis.result_accesses)
