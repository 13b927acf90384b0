from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.accuracy import Accuracy, is_allowed, least_accuracy, parse_accuracy
from relay_tune.schedule.plan import Plan, plan_program, read_schedule
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.matrix_products.record import BF16X3, BF16X6
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.split import SPLIT
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.rewrites.table import ALGORITHMS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.targets.x86.intrinsics import INTRINSICS
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER
from tests.schedule.products import dense


@pytest.fixture
def plan() -> Plan:
    return plan_program(convolution_program((1, 8, 8, 16, 16)))


def test_tiles_of_convolutions_are_fast_and_not_exact(plan: Plan) -> None:
    assert plan.algorithms_on(SERVER) == (DIRECT, WINOGRAD(tile=2), WINOGRAD(tile=4))
    assert plan.with_accuracy(Accuracy.EXACT).algorithms_on(SERVER) == (DIRECT,)


def test_what_mixes_samples_is_relaxed() -> None:
    plan = plan_program(dense(64, 512, 512))
    relaxed = plan.with_accuracy(Accuracy.RELAXED)
    assert set(relaxed.algorithms_on(SERVER)) - set(plan.algorithms_on(SERVER)) == {STRASSEN()}
    schedule = relaxed.with_algorithm(STRASSEN()).default_under_algorithm(SERVER, 1)[1]
    with pytest.raises(InputError, match="strassen is not fast") as found:
        read_schedule(schedule.to_json(), plan)
    assert "--accuracy relaxed" in str(found.value)


def test_each_level_allows_what_the_one_before_it_does() -> None:
    for algorithm in ALGORITHMS:
        allowed = [is_allowed(algorithm.exactness, accuracy) for accuracy in Accuracy]
        assert allowed == sorted(allowed)
        assert least_accuracy(algorithm.exactness) is list(Accuracy)[allowed.index(True)]
    strictest = {each: least_accuracy(each.exactness) for each in ALGORITHMS}
    assert strictest[WINOGRAD] is Accuracy.FAST
    assert strictest[BF16X6] is strictest[ROWS] is strictest[SPLIT] is Accuracy.EXACT


def test_tiles_of_two_results_round_as_sums_do_but_mix() -> None:
    two, four = WINOGRAD(tile=2).exactness, WINOGRAD(tile=4).exactness
    assert is_allowed(two, Accuracy.FAST, is_decisive=True)
    assert not is_allowed(four, Accuracy.FAST, is_decisive=True)
    assert is_allowed(four, Accuracy.RELAXED, is_decisive=True)
    assert not is_allowed(two, Accuracy.EXACT)


def test_matrix_registers_add_products_of_the_accuracy(plan: Plan) -> None:
    machine = replace(SERVER, intrinsics=INTRINSICS)
    six = (BF16X6(), BF16X6(gathered=True))
    assert plan.algorithms_on(machine) == (DIRECT, *six, WINOGRAD(tile=2), WINOGRAD(tile=4))
    exact = plan.with_accuracy(Accuracy.EXACT).algorithms_on(machine)
    assert exact == (DIRECT, *six)


def test_large_products_may_be_inexact():
    plan = plan_program(convolution_program((1, 60, 60, 32, 32)))
    machine = replace(SERVER, intrinsics=INTRINSICS)
    names = plan.algorithms_on(machine)
    assert BF16X3() in names and BF16X6() not in names
    exact = plan.with_accuracy(Accuracy.EXACT).algorithms_on(machine)
    assert BF16X6() in exact and BF16X3() not in exact


def test_an_exact_plan_takes_no_schedule_of_another_algorithm(plan: Plan) -> None:
    fast = plan.with_algorithm(WINOGRAD(tile=4)).default_under_algorithm(SERVER, 1)[1]
    assert read_schedule(fast.to_json(), plan) == fast
    exact = plan.with_accuracy(Accuracy.EXACT)
    with pytest.raises(InputError, match="winograd.tile=4. is not exact"):
        read_schedule(fast.to_json(), exact)
    assert exact.default_schedule(SERVER, 1).algorithm == DIRECT


def test_accuracy_stays_with_the_plans_of_other_algorithms(plan: Plan) -> None:
    exact = plan.with_accuracy(Accuracy.EXACT).with_algorithm(BF16X6())
    assert (exact.accuracy, exact.algorithm) == (Accuracy.EXACT, BF16X6())
    back = exact.with_accuracy(Accuracy.FAST)
    assert (back.accuracy, back.algorithm) == (Accuracy.FAST, DIRECT)
    assert WINOGRAD(tile=4) in back.algorithms


def test_names_of_accuracies_are_checked() -> None:
    assert parse_accuracy("exact") is Accuracy.EXACT
    with pytest.raises(InputError, match="perfect"):
        parse_accuracy("perfect")
