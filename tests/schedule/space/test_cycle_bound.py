"""Algorithms that cannot be the best are not looked into."""

import random
from dataclasses import replace

import pytest

from relay_tune.schedule.plan import Plan, cheapest_schedule, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.space.cycle_bound import least_cycles
from relay_tune.tensor.expression import cast
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute
from tests.schedule import integer_products
from tests.schedule.convolutions import SERVER, convolution_program
from tests.schedule.products import dense
from tests.schedule.random_choices import point_of_space


def stored_in_bytes() -> TensorProgram:
    """Sums in int32 that are stored as bytes: vectors have as many lanes as sums fit."""
    program = integer_products.dense(16, 256, 64)
    (sums,) = program.outputs
    stored = compute("stored", sums.shape, lambda *at: cast(sums[at], "uint8"))
    return replace(program, outputs=(stored,))


PROGRAMS = {
    "deep": convolution_program((1, 14, 14, 128, 64), epilogue="bias and relu"),
    "wide": convolution_program((1, 24, 24, 16, 16), epilogue="residual"),
    "dense": dense(16, 2048, 100),
    "bytes": stored_in_bytes(),
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
    assert best * plan.most_saving(SERVER) >= plan.least_cycles(SERVER, 1)


def test_what_algorithms_save_at_most_is_known_without_their_plans():
    assert plan_program(PROGRAMS["deep"]).most_saving(SERVER) == 4
    assert plan_program(PROGRAMS["dense"]).most_saving(SERVER) == 1


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


def test_pairs_are_not_tried_where_fours_are_multiplied_at_once():
    machine = replace(SERVER, dot_products=("dot_u8s8", "dot_s16s16"))
    plan = plan_program(PROGRAMS["bytes"])
    fours = next(each for each in plan.algorithms if str(each) == "dot_u8s8")
    best = plan.with_algorithm(fours).default_under_algorithm(machine, 1)[0]
    others = [each for each in plan.algorithms_on(machine) if each != fours]
    assert others
    assert all(plan.with_algorithm(each).least_cycles(machine, 1) > best for each in others)
