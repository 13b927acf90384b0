from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.accuracy import Accuracy, is_allowed, least_accuracy, parse_accuracy
from relay_tune.schedule.algorithms import ALGORITHMS, STRASSEN, algorithm_named
from relay_tune.schedule.plan import Plan, plan_program, read_schedule
from relay_tune.schedule.schedule import DIRECT
from relay_tune.targets.x86.intrinsics import INTRINSICS
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER
from tests.schedule.products import dense


@pytest.fixture
def plan() -> Plan:
    return plan_program(convolution_program((1, 8, 8, 16, 16)))


def test_tiles_of_convolutions_are_fast_and_not_exact(plan: Plan) -> None:
    assert plan.algorithms_on(SERVER) == ("direct", "winograd2", "winograd4")
    assert plan.with_accuracy(Accuracy.EXACT).algorithms_on(SERVER) == ("direct",)


def test_what_mixes_samples_is_relaxed() -> None:
    plan = plan_program(dense(64, 512, 512))
    relaxed = plan.with_accuracy(Accuracy.RELAXED)
    assert set(relaxed.algorithms_on(SERVER)) - set(plan.algorithms_on(SERVER)) == {STRASSEN}
    schedule = relaxed.with_algorithm(STRASSEN).default_under_algorithm(SERVER, 1)[1]
    with pytest.raises(InputError, match="strassen is not fast") as found:
        read_schedule(schedule.to_json(), plan)
    assert "--accuracy relaxed" in str(found.value)


def test_each_level_allows_what_the_one_before_it_does() -> None:
    for algorithm in ALGORITHMS.values():
        allowed = [is_allowed(algorithm.exactness, accuracy) for accuracy in Accuracy]
        assert allowed == sorted(allowed)
        assert least_accuracy(algorithm.exactness) is list(Accuracy)[allowed.index(True)]
    strictest = {name: least_accuracy(each.exactness) for name, each in ALGORITHMS.items()}
    assert strictest["winograd2"] is Accuracy.FAST
    assert strictest["bf16x6"] is strictest["rows"] is strictest["split4"] is Accuracy.EXACT


def test_names_with_blocks_are_those_of_their_algorithm() -> None:
    assert algorithm_named("winograd4_tiles28").name == "winograd4"
    assert algorithm_named("rows8").name == "rows"
    assert algorithm_named("bf16x3_gathered").name == "bf16x3_gathered"
    for unknown in ("rows", "rows0", "strassen_tiles4", "winograd3", "winograd4_tiles"):
        with pytest.raises(InputError, match=f"no algorithm '{unknown}'"):
            algorithm_named(unknown)


def test_matrix_registers_add_products_of_the_accuracy(plan: Plan) -> None:
    machine = replace(SERVER, intrinsics=INTRINSICS)
    six = ("bf16x6", "bf16x6_gathered")
    assert plan.algorithms_on(machine) == ("direct", *six, "winograd2", "winograd4")
    exact = plan.with_accuracy(Accuracy.EXACT).algorithms_on(machine)
    assert exact == ("direct", *six)


def test_large_products_may_be_inexact():
    plan = plan_program(convolution_program((1, 60, 60, 32, 32)))
    machine = replace(SERVER, intrinsics=INTRINSICS)
    names = plan.algorithms_on(machine)
    assert "bf16x3" in names and "bf16x6" not in names
    exact = plan.with_accuracy(Accuracy.EXACT).algorithms_on(machine)
    assert "bf16x6" in exact and "bf16x3" not in exact


def test_an_exact_plan_takes_no_schedule_of_another_algorithm(plan: Plan) -> None:
    fast = plan.with_algorithm("winograd4").default_under_algorithm(SERVER, 1)[1]
    assert read_schedule(fast.to_json(), plan) == fast
    exact = plan.with_accuracy(Accuracy.EXACT)
    with pytest.raises(InputError, match="winograd4 is not exact"):
        read_schedule(fast.to_json(), exact)
    assert exact.default_schedule(SERVER, 1).algorithm == "direct"


def test_accuracy_stays_with_the_plans_of_other_algorithms(plan: Plan) -> None:
    exact = plan.with_accuracy(Accuracy.EXACT).with_algorithm("bf16x6")
    assert (exact.accuracy, exact.algorithm) == (Accuracy.EXACT, "bf16x6")
    back = exact.with_accuracy(Accuracy.FAST)
    assert (back.accuracy, back.algorithm) == (Accuracy.FAST, DIRECT)
    assert "winograd4" in back.algorithms


def test_names_of_accuracies_are_checked() -> None:
    assert parse_accuracy("exact") is Accuracy.EXACT
    with pytest.raises(InputError, match="perfect"):
        parse_accuracy("perfect")
