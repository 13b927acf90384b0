"""Algorithms that cannot be the best are not looked into."""

import random

import pytest

from relay_tune.schedule.plan import Plan, cheapest_schedule, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.space.cycle_bound import least_cycles
from tests.schedule.convolutions import SERVER, convolution_program
from tests.schedule.products import dense
from tests.schedule.random_choices import point_of_space

PROGRAMS = {
    "deep": convolution_program((1, 14, 14, 128, 64), epilogue="bias and relu"),
    "wide": convolution_program((1, 24, 24, 16, 16), epilogue="residual"),
    "dense": dense(16, 2048, 100),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_choice_is_estimated_below_the_bound(name):
    plan = plan_program(PROGRAMS[name])
    rng = random.Random(0)
    for algorithm in plan.algorithms:
        spaces = plan.with_algorithm(algorithm).spaces(SERVER, 1)
        for space in spaces:
            bound = least_cycles([space], SERVER)
            for _ in range(40):
                assert space.estimate(point_of_space(rng, space)).cycles >= 0.999 * bound


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cheapest_is_that_of_all(name):
    plan = plan_program(PROGRAMS[name])
    plans = [plan.with_algorithm(algorithm) for algorithm in plan.algorithms_on(SERVER)]
    best = min(each.default_under_algorithm(SERVER, 1)[0] for each in plans)
    assert cheapest_schedule(plans, SERVER, 1)[0] == best


def test_a_direct_convolution_is_not_tried_beside_a_faster_one(monkeypatch):
    tried = []
    look = Plan.default_under_algorithm

    def noted(plan, machine, threads):
        tried.append(plan.algorithm)
        return look(plan, machine, threads)

    monkeypatch.setattr(Plan, "default_under_algorithm", noted)
    plan = plan_program(PROGRAMS["deep"])
    chosen = plan.default_schedule(SERVER, 1).algorithm
    known = set(plan.algorithms_on(SERVER))
    assert {DIRECT, WINOGRAD(tile=2), WINOGRAD(tile=4)} <= known
    assert chosen in tried
    assert DIRECT not in tried
