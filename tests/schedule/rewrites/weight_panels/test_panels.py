"""Weights of few bits that become floats once for all rows, panel by panel."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.packing import PackRecipe
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.weight_panels.record import PANELS
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram
from tests.schedule import products
from tests.schedule.machines import with_registers
from tests.schedule.running import run_schedule, runnable_targets

MACHINES = [
    machine_of(parse_target(f"x86_64-linux-gnu:{cpu}")) for cpu in ("cooperlake", "haswell")
]

PROGRAMS: dict[str, Callable[[], TensorProgram]] = {
    "8 bits": lambda: products.stored(33, 96, 64),
    "8 bits, zero points": lambda: products.stored(19, 64, 48, zero=3),
    "4 bits": lambda: products.stored(40, 64, 96, bits=4),
    "one block": lambda: products.stored(17, 64, 32, block=64, bits=4),
    "bfloat16": lambda: products.narrow(33, 96, 64),
    "float16, columns outermost": lambda: products.narrow(
        19, 64, 48, weights="float16", transposed=True
    ),
    "data, too": lambda: products.narrow(40, 64, 96, weights="float16", data="float16"),
}


def feeds_of(program: TensorProgram) -> dict[object, np.ndarray]:
    rng = np.random.default_rng(3)
    return {x: rng.standard_normal(x.shape).astype(x.dtype) for x in program.inputs}


def offered(plan: Plan) -> list[object]:
    return [
        each for each in plan.algorithms if each.rewrites and each.rewrites[0].algorithm is PANELS
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_are_those_of_converted_weights(name: str) -> None:
    program = PROGRAMS[name]()
    feeds, plan = feeds_of(program), plan_program(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    assert offered(plan)
    for algorithm in offered(plan):
        own = plan.with_algorithm(algorithm)
        assert [type(step) for step in own.steps[-1:]] == [RowBlocks]  # behind wider data
        for target in runnable_targets():
            machine = with_registers(machine_of(target), 8)
            schedule = own.default_under_algorithm(machine, 2)[1]
            for threads in (1, 3):
                (found,) = run_schedule(own, schedule, target, feeds, threads=threads)
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES)
def test_many_rows_take_them_and_few_do_not(machine) -> None:
    many = plan_program(products.stored(512, 768, 1536, bits=4))
    assert many.default_schedule(machine, 1).algorithm in offered(many)
    few = plan_program(products.stored(4, 768, 1536, bits=4))
    assert not offered(few)


@pytest.mark.parametrize("machine", MACHINES)
def test_many_rows_take_them_of_narrow_floats(machine) -> None:
    plan = plan_program(products.narrow(512, 768, 1536, weights="float16"))
    assert plan.default_schedule(machine, 1).algorithm in offered(plan)


def test_a_packed_panel_has_each_weight_once() -> None:
    """Whether steps or columns are neighbours in memory."""
    for transposed in (False, True):
        plan = plan_program(products.narrow(64, 96, 64, transposed=transposed))
        own = plan.with_algorithm(PANELS(columns=32))
        machine = machine_of(parse_target("x86_64-linux-gnu:haswell"))
        (recipe,) = recipes(own, own.default_under_algorithm(machine, 1)[1])
        assert prod(recipe.shape) == 96 * 64


def test_columns_are_whole_panels() -> None:
    plan = plan_program(products.stored(64, 64, 80))
    assert offered(plan) == [PANELS(columns=16)]
    assert not offered(plan_program(products.stored(64, 64, 50)))


def recipes(plan: Plan, schedule: Schedule) -> set[PackRecipe]:
    return {packed.recipe.merged for packed in apply_schedule(plan, schedule).packed}


@pytest.mark.parametrize("bits", [4, 8])
def test_they_read_the_constants_that_one_row_reads(bits: int) -> None:
    """Where tiles of one row are as wide as a panel, both pack in one way."""
    machine = MACHINES[0]
    one = plan_program(products.stored(1, 256, 192, bits=bits))
    many = plan_program(products.stored(256, 256, 192, bits=bits))
    schedule = one.default_schedule(machine, 1)
    wide = PANELS(columns=48).packing(schedule.choices)
    assert wide is not None
    alike = many.with_packing(Schedule(wide))
    assert alike.algorithms == (DIRECT, PANELS(columns=48))
    panels = alike.with_algorithm(PANELS(columns=48))
    own = panels.default_under_algorithm(machine, 1)[1]
    assert recipes(panels, own) == recipes(one, Schedule(wide))
