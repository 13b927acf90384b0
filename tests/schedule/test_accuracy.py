from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.accuracy import Accuracy, parse_accuracy
from relay_tune.schedule.plan import Plan, plan_program, read_schedule
from relay_tune.schedule.schedule import DIRECT
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER


@pytest.fixture
def plan() -> Plan:
    return plan_program(convolution_program((1, 8, 8, 16, 16)))


def test_all_algorithms_are_fast_and_not_all_are_exact(plan: Plan) -> None:
    assert plan.algorithms_on(SERVER) == ("direct", "winograd2", "winograd4")
    exact = plan.with_accuracy(Accuracy.EXACT)
    assert exact.algorithms_on(SERVER) == ("direct", "winograd2")


def test_matrix_registers_add_products_of_the_accuracy(plan: Plan) -> None:
    machine = replace(SERVER, tile_cycles=20.0)
    six = ("bf16x6", "bf16x6_gathered")
    assert plan.algorithms_on(machine) == ("direct", *six, "winograd2", "winograd4")
    exact = plan.with_accuracy(Accuracy.EXACT).algorithms_on(machine)
    assert exact == ("direct", *six, "winograd2")


def test_large_products_may_be_inexact():
    plan = plan_program(convolution_program((1, 60, 60, 32, 32)))
    machine = replace(SERVER, tile_cycles=20.0)
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
    assert exact.default_schedule(SERVER, 1).algorithm in ("direct", "winograd2")


def test_accuracy_stays_with_the_plans_of_other_algorithms(plan: Plan) -> None:
    exact = plan.with_accuracy(Accuracy.EXACT).with_algorithm("winograd2")
    assert (exact.accuracy, exact.algorithm) == (Accuracy.EXACT, "winograd2")
    back = exact.with_accuracy(Accuracy.FAST)
    assert (back.accuracy, back.algorithm) == (Accuracy.FAST, DIRECT)
    assert "winograd4" in back.algorithms


def test_names_of_accuracies_are_checked() -> None:
    assert parse_accuracy("exact") is Accuracy.EXACT
    with pytest.raises(InputError, match="perfect"):
        parse_accuracy("perfect")
