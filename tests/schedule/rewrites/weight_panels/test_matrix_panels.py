"""Weights of few bits that become parts for matrix registers, panel by panel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.codegen.target import native_target, parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT, AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import LARGE_PRODUCTS
from relay_tune.schedule.rewrites.weight_panels.matrix_record import MATRIX_PANELS
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram
from tests.schedule import products
from tests.schedule.rewrites.weight_panels.test_panels import feeds_of, recipes
from tests.schedule.running import run_schedule

NATIVE = native_target()
SAPPHIRE = machine_of(parse_target("x86_64-linux-gnu:sapphirerapids"))
COOPERLAKE = machine_of(parse_target("x86_64-linux-gnu:cooperlake"))
BY_NAME = {each.name: each for each in MATRIX_PANELS}
BOUNDS = {"panels_bf16x3": 2e-5, "panels_bf16x1": 1e-2}
"""Differences as a share of the largest result."""

PROGRAMS: dict[str, Callable[[], TensorProgram]] = {
    "8 bits": lambda: products.stored(33, 96, 64),
    "8 bits, zero points": lambda: products.stored(35, 64, 48, zero=3),
    "4 bits": lambda: products.stored(40, 64, 96, bits=4),
    "float16": lambda: products.narrow(33, 96, 64, weights="float16"),
    "steps that fill no register": lambda: products.stored(37, 48, 32, block=16, bits=4),
}


def offered(plan: Plan) -> list[AppliedAlgorithm]:
    rewrites = ((each, each.rewrites[0].algorithm) for each in plan.algorithms if each.rewrites)
    return [each for each, algorithm in rewrites if algorithm in MATRIX_PANELS]


@pytest.mark.parametrize("case", PROGRAMS)
@pytest.mark.parametrize("name", BY_NAME)
def test_products_are_those_of_converted_weights(name: str, case: str) -> None:
    program = PROGRAMS[case]()
    feeds, plan = feeds_of(program), plan_program(program).with_accuracy(Accuracy.RELAXED)
    columns = next(c for c in (48, 32) if program.outputs[0].shape[1] % c == 0)
    own = plan.with_algorithm(BY_NAME[name](columns=columns))
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    (stages,) = evaluate(own.program.outputs, {**feeds, **own.program.constant_arrays()})
    largest = np.abs(expected).max()
    assert np.abs(stages - expected).max() <= BOUNDS[name] * largest
    group = own.steps[-1]
    assert isinstance(group, RowBlocks)
    assert intrinsic_match(group.nests[-1]) is not None
    if not own.algorithm.can_run(machine_of(NATIVE)):
        return
    schedule = own.default_under_algorithm(machine_of(NATIVE), 2)[1]
    for threads in (1, 3):
        (found,) = run_schedule(own, schedule, NATIVE, feeds, threads=threads)
        assert np.abs(found - stages).max() <= 1e-5 * largest


def test_large_products_take_them_where_there_are_matrix_registers() -> None:
    many = plan_program(products.stored(512, 768, 1536, bits=4))
    assert many.default_schedule(SAPPHIRE, 1).algorithm in offered(many)
    assert not set(offered(many)) & set(many.algorithms_on(COOPERLAKE))
    small = plan_program(products.stored(LARGE_PRODUCTS // (768 * 96) - 1, 768, 96, bits=4))
    assert not offered(small)
    assert not offered(many.with_accuracy(Accuracy.EXACT))


def test_panels_have_room_beside_their_parts() -> None:
    """Floats and both parts of 64 columns of 3072 steps take 1.5 MB."""
    plan = plan_program(products.stored(512, 3072, 192, bits=4))
    assert {str(each) for each in offered(plan)} == {
        f"panels_bf16x3(columns={columns})" for columns in (32, 48)
    }
    narrow = plan_program(products.stored(1024, 3072, 112, bits=4))
    assert {str(each) for each in offered(narrow)} == {"panels_bf16x3(columns=16)"}


def test_they_read_the_constants_that_one_row_reads() -> None:
    one = plan_program(products.stored(1, 768, 192, bits=4))
    many = plan_program(products.stored(512, 768, 192, bits=4))
    algorithm = BY_NAME["panels_bf16x3"](columns=48)
    wide = algorithm.packing(
        one.with_algorithm(DIRECT).default_under_algorithm(SAPPHIRE, 1)[1].choices
    )
    assert wide is not None
    alike = many.with_packing(Schedule(wide))
    assert algorithm in alike.algorithms
    panels = alike.with_algorithm(algorithm)
    own = panels.default_under_algorithm(SAPPHIRE, 1)[1]
    assert recipes(panels, own) == recipes(one, Schedule(wide))
    assert len(apply_schedule(panels, own).kernels) == 2
