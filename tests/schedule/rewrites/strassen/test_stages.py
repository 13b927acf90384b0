"""Products from halves: what they compute, and how exactly."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.program import TensorProgram
from tests.schedule.convolutions import convolution_program, feeds_of, relative_error
from tests.schedule.convolutions import plan_schedule as default_schedule
from tests.schedule.products import batched, dense
from tests.schedule.random_choices import SMALL_TILE, any_choice
from tests.schedule.running import run_schedule, runnable_targets

BOUND = 3e-6
"""Differences as a share of the largest result; direct ones are about 5e-7."""

PROGRAMS: dict[str, Callable[[], TensorProgram]] = {
    "constant weights": lambda: dense(64, 256, 256),
    "weights as columns and steps": lambda: dense(64, 256, 256, transposed=True),
    "columns of no whole vectors": lambda: dense(62, 230, 202),
    "two inputs": lambda: dense(320, 320, 320, constant=False),
    "two inputs, one transposed": lambda: dense(320, 320, 320, constant=False, transposed=True),
    "products side by side": lambda: batched(320, 320, 320),
    "1x1 taps": lambda: convolution_program((1, 6, 7, 256, 256), kernel=(1, 1)),
    "windows that overlap": lambda: convolution_program((1, 8, 9, 64, 128)),
    "windows with a stride": lambda: convolution_program((2, 5, 8, 64, 256), stride=2),
    "taps apart": lambda: convolution_program((1, 8, 8, 64, 256), dilation=2),
    "a padded result": lambda: convolution_program((1, 6, 8, 256, 256), epilogue="pad"),
    "a residual": lambda: convolution_program((1, 6, 8, 256, 256), epilogue="residual"),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_stages_compute_the_product(case: str) -> None:
    program = PROGRAMS[case]()
    changed = STRASSEN().prepared(program)
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    (found,) = evaluate(changed.outputs, {**feeds, **changed.constant_arrays()})
    assert np.abs(found - expected).max() <= BOUND * np.abs(expected).max()


@pytest.mark.parametrize("case", PROGRAMS)
def test_native_code_agrees(case: str) -> None:
    assert relative_error(PROGRAMS[case](), STRASSEN(), runnable_targets()[0], 2) <= BOUND


def test_constant_weights_are_added_up_beforehand():
    program = STRASSEN().prepared(dense(64, 256, 300))
    ((stored, data),) = program.constant_arrays().items()
    assert stored.shape == (7, 128, 150)
    ((_, weights),) = dense(64, 256, 300).constants
    assert np.array_equal(data[1], weights[:128, :150])
    assert np.array_equal(data[5], weights[:128, :150] + weights[:128, 150:])


def test_sums_of_the_data_and_results_are_one_nest_each():
    plan = plan_program(dense(64, 256, 256), STRASSEN())
    sums, products, result = plan.nests
    assert [axis.extent for axis in sums.axes] == [7, 32, 128]
    assert [axis.extent for axis in (*products.axes, *products.reduction)] == [7, 32, 128, 128]
    assert [axis.extent for axis in result.axes] == [2, 32, 2, 128]
    assert len(apply_schedule(plan, default_schedule(plan)).kernels) == 3


@pytest.mark.parametrize("seed", range(6))
def test_every_schedule_is_right(seed: int) -> None:
    rng = random.Random(seed)
    program = rng.choice([dense(64, 256, 256), convolution_program((1, 8, 9, 64, 128))])
    plan = plan_program(program, STRASSEN())
    schedule = Schedule(tuple(any_choice(rng, nest, SMALL_TILE) for nest in plan.nests), STRASSEN())
    assert read_schedule(schedule.to_json(), plan) == schedule
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    target, constants = rng.choice(runnable_targets()), plan.program.constant_arrays()
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=2)
    assert np.abs(found - expected).max() <= BOUND * np.abs(expected).max()
