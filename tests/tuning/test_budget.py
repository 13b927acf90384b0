from __future__ import annotations

import pytest

from relay_tune.errors import InputError
from relay_tune.tuning.budget import TRIALS_PER_TASK, make_budget


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_trials_end_a_budget() -> None:
    budget = make_budget(10, 5, tasks=3, clock=Clock())
    budget.used = 8
    assert budget.remaining_trials == 2 and not budget.is_spent
    budget.spend()
    budget.spend()
    assert budget.is_spent
    assert (budget.used, budget.measured) == (10, 2)


def test_time_ends_a_budget() -> None:
    clock = Clock()
    budget = make_budget(None, 0.5, tasks=2, clock=clock)
    assert budget.trials == 2 * TRIALS_PER_TASK
    clock.now += 29.0
    assert not budget.is_spent
    clock.now += 1.0
    assert budget.is_spent


def test_the_end_is_foreseen_by_what_comes_first() -> None:
    clock = Clock()
    budget = make_budget(30, 1, tasks=1, clock=clock)
    assert budget.eta_seconds == 60.0
    clock.now += 10.0
    for _ in range(10):
        budget.spend()
    assert budget.rate == pytest.approx(1.0)
    assert budget.eta_seconds == pytest.approx(20.0)


@pytest.mark.parametrize(("trials", "minutes"), [(-1, 1.0), (1, -1.0), (1, float("inf"))])
def test_senseless_budgets_are_refused(trials: int, minutes: float) -> None:
    with pytest.raises(InputError):
        make_budget(trials, minutes, tasks=1)


def test_time_counts_from_the_beginning_of_the_run() -> None:
    clock = Clock()
    budget = make_budget(None, 1, tasks=2, clock=clock, began=clock.now - 55.0)
    assert budget.left == 5.0 and not budget.is_spent
    clock.now += 5.0
    assert budget.is_spent and budget.left == 0.0


def test_time_is_kept_for_the_end_once_something_is_measured() -> None:
    clock = Clock()
    budget = make_budget(100, 1, tasks=2, clock=clock)
    clock.now += 5.0
    budget.keep_final(2)
    budget.keep_runs(5e-3)
    assert budget.timing == budget.final == pytest.approx(15.3)
    for _ in range(72):
        assert not budget.is_spent
        clock.now += 0.5  # each, and there are two kernels that take four such to confirm
        budget.spend()
    assert budget.final == pytest.approx(19.3)
    assert budget.is_spent and budget.confirming_left == pytest.approx(3.7)
    clock.now += 3.7
    assert budget.confirming_left == pytest.approx(0)
    assert budget.left == pytest.approx(15.3)


def test_what_is_too_short_for_the_network_is_not_kept_for_it() -> None:
    clock = Clock()
    budget = make_budget(100, 1, tasks=2, clock=clock)
    clock.now += 20.0
    budget.keep_final(2, network_seconds=15.0)
    assert budget.timing == pytest.approx(15.75)
    budget.timing = 0.0
    budget.keep_final(2, network_seconds=16.0)
    budget.keep_runs(5e-3)
    budget.spend()
    assert budget.timing == 0.0
    assert budget.searching_left == pytest.approx(40.0)


@pytest.mark.parametrize("planning", [1.0, 25.0, 58.0])
def test_the_search_has_a_part_of_the_time_however_long_planning_takes(planning: float) -> None:
    clock = Clock()
    budget = make_budget(100, 1, tasks=2, clock=clock)
    assert budget.may_plan
    clock.now += planning
    assert budget.may_plan == (planning < 21.0)
    budget.keep_final(2)
    assert budget.timing < budget.final + 1e-9 <= 21.0 + 1e-9
