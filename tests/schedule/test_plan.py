"""What a plan chooses by default."""

from __future__ import annotations

import pytest

from relay_tune.machine.machine import Machine
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan, cheapest_schedule, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.partial_sums import PARTIAL_SUMS
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from tests.schedule.machines import SERVER
from tests.schedule.products import weight_gradient


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PARTIAL_SUMS(steps=256), PARTIAL_SUMS(steps=256, turned=True)),
        (PARTIAL_SUMS(steps=256), PARTIAL_SUMS(steps=256) + ROWS(block=4)),
        (WINOGRAD(tile=4), WINOGRAD(tile=4, block=28)),
        (WINOGRAD(tile=4, run=8), WINOGRAD(tile=4, block=28)),
        (AppliedAlgorithm(), ROWS(block=4)),
    ],
    ids=lambda algorithm: str(algorithm),
)
def test_where_numbers_lie_does_not_order_sums(
    one: AppliedAlgorithm, other: AppliedAlgorithm
) -> None:
    assert one.order_of_sums == other.order_of_sums


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (AppliedAlgorithm(), PARTIAL_SUMS(steps=256)),
        (PARTIAL_SUMS(steps=256), PARTIAL_SUMS(steps=512)),
        (WINOGRAD(tile=2), WINOGRAD(tile=4)),
        (WINOGRAD(tile=4), WINOGRAD(tile=4) + PARTIAL_SUMS(steps=256)),
    ],
    ids=lambda algorithm: str(algorithm),
)
def test_parts_and_tiles_order_sums(one: AppliedAlgorithm, other: AppliedAlgorithm) -> None:
    assert one.order_of_sums != other.order_of_sums


@pytest.mark.parametrize("threads", [2, 4])
def test_several_threads_add_up_as_one_does(threads: int) -> None:
    """What threads would gain from parts of this sum is not taken: they are other bits."""
    plan = plan_program(weight_gradient(4, 16, 64, 64))
    every = [plan.with_algorithm(each) for each in plan.algorithms_on(SERVER)]
    _, fastest = cheapest_schedule(every, SERVER, threads)
    one, several = (plan.default_schedule(SERVER, count).algorithm for count in (1, threads))
    assert several.order_of_sums == one.order_of_sums
    assert fastest.algorithm.order_of_sums != one.order_of_sums


def test_how_numbers_are_added_up_is_found_without_a_search_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = plan_program(weight_gradient(4, 16, 64, 64))
    plans = [plan.with_algorithm(each) for each in plan.algorithms_on(SERVER)]
    _, best = cheapest_schedule(plans, SERVER, 1)
    searched: list[AppliedAlgorithm] = []
    search = Plan.default_under_algorithm

    def counted(plan: Plan, machine: Machine, threads: int) -> tuple[float, Schedule]:
        searched.append(plan.algorithm)
        return search(plan, machine, threads)

    monkeypatch.setattr(Plan, "default_under_algorithm", counted)
    cheapest_schedule(plans, SERVER, 1)
    all_searched = len(searched)
    searched.clear()
    _, found = cheapest_schedule(plans, SERVER, 1, lambda algorithm: algorithm.order_of_sums)
    assert found.algorithm.order_of_sums == best.algorithm.order_of_sums
    assert len(searched) <= all_searched
    searched.clear()
    cheapest_schedule(plans, SERVER, 1, lambda algorithm: "the only kind")
    assert len(searched) == 1


def test_nests_are_planned_once_whatever_is_packed_or_allowed() -> None:
    plan = plan_program(weight_gradient(4, 16, 64, 64))
    packed = plan.with_packing(Schedule(plan.default_schedule(SERVER, 1).choices))
    exact = plan.with_accuracy(Accuracy.EXACT)
    assert len(plan.algorithms) > 1
    assert packed.packing is not plan.packing
    for algorithm in packed.algorithms:
        assert packed.with_algorithm(algorithm).steps is plan.with_algorithm(algorithm).steps
    for algorithm in exact.algorithms:
        assert exact.with_algorithm(algorithm).steps is plan.with_algorithm(algorithm).steps


def test_a_plan_does_not_print_the_plans_that_it_knows() -> None:
    plan = plan_program(weight_gradient(4, 16, 64, 64))
    others = [plan.with_algorithm(algorithm) for algorithm in plan.algorithms]
    assert len(others) > 1
    assert repr(plan).count("Plan(program=") == 1  # each knows all others
