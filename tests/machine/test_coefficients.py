"""The coefficients of estimates: which of them are fitted, and that machines carry them."""

from __future__ import annotations

from dataclasses import fields, replace

from relay_tune.codegen.target import parse_target
from relay_tune.machine.coefficients import FITTED, MEASURED_ON_SERVERS, Coefficients
from relay_tune.schedule.plan import plan_program
from tests.schedule.machines import SERVER
from tests.schedule.products import dense


def test_only_numbers_with_a_fraction_are_fitted():
    kinds = {each.name: type(each.default) for each in fields(Coefficients)}
    assert set(kinds.values()) == {int, float}
    assert set(FITTED) == {name for name, kind in kinds.items() if kind is float}
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
