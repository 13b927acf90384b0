"""The coefficients of estimates: which of them are fitted, and that machines carry them."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.machine.coefficients import (
    FITTED,
    MEASURED_ON_SERVERS,
    STAYS,
    Coefficients,
    nearest_possible,
)
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.space.cycle_bound import least_cycles
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER
from tests.schedule.products import dense
from tests.schedule.random_choices import point_of_space

PROGRAMS = (
    dense(16, 2048, 100),
    convolution_program((1, 14, 14, 512, 64), epilogue="bias and relu"),
)


def test_only_numbers_with_a_fraction_are_fitted():
    kinds = {each.name: type(each.default) for each in fields(Coefficients)}
    assert set(kinds.values()) == {int, float}
    whole = {name for name, kind in kinds.items() if kind is int}
    staying = {each.name for each in fields(Coefficients) if each.metadata == STAYS}
    assert set(FITTED) == kinds.keys() - whole - staying
    assert len(staying) < 6
    assert all(getattr(MEASURED_ON_SERVERS, name) > 0 for name in kinds)


def test_machines_of_all_architectures_have_coefficients():
    for triple in ("x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"):
        assert parse_target(triple).machine.coefficients == MEASURED_ON_SERVERS


def test_estimates_take_them_from_the_machine():
    plan = plan_program(dense(16, 256, 100))
    schedule = plan.default_schedule(SERVER, 1)
    slower = replace(SERVER, coefficients=replace(SERVER.coefficients, load=10.0))

    def cycles(machine):
        (space,) = plan.spaces(machine, 1)
        return space.estimate(schedule.choices[0]).cycles

    assert cycles(slower) > 2 * cycles(SERVER)
    assert plan.fixed_cycles(SERVER) < plan.fixed_cycles(
        replace(SERVER, coefficients=replace(SERVER.coefficients, kernel=1e6))
    )


@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_positive_whatever_possible_coefficients_say(seed):
    rng = random.Random(seed)
    wild = {
        name: nearest_possible(name, getattr(MEASURED_ON_SERVERS, name) * 16 ** rng.uniform(-1, 1))
        for name in FITTED
    }
    wild["overfull_set"] = wild["full_set"] * rng.choice((0.5, 1.0, 1.5))
    machine = replace(SERVER, coefficients=MEASURED_ON_SERVERS.changed(wild))
    for program in PROGRAMS:
        plan = plan_program(program)
        for space in plan.spaces(machine, 1):
            for _ in range(20):
                found = space.estimate(point_of_space(rng, space))
                assert found.cycles > 0
                assert found.cycles >= 0.999 * least_cycles([space], machine)
