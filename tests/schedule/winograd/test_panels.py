"""Winograd's filtering in panels of outputs."""

import random

import numpy as np
import pytest

from relay_tune.schedule.algorithms import algorithms
from relay_tune.schedule.apply import apply_schedule, plan_program, read_schedule
from relay_tune.schedule.nest import Nest
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.schedule.winograd.panels import in_panels
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.loops_text import kernel_text
from tests.schedule.random_choices import any_choice
from tests.schedule.running import run_schedule, runnable_targets
from tests.schedule.winograd.test_stages import (
    EPILOGUES,
    SERVER,
    TOLERANCES,
    convolution_program,
    feeds_of,
    relative_error,
)
from tests.schedule.winograd.test_volumes import volume


def test_taps_of_a_panel_are_in_one_piece():
    taps = np.arange(2 * 3 * 8).reshape(2, 3, 8)
    found = in_panels(taps, 4)
    assert found.shape == (2, 2, 3, 4)
    assert found.flags.c_contiguous
    assert found[1, 1, 2].tolist() == taps[1, 2, 4:].tolist()


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((1, 8, 8, 16, 64), ["winograd2_panel32", "winograd4_panel32"]),
        ((1, 8, 8, 16, 32), []),  # a single panel
        ((1, 8, 8, 16, 48), []),  # no whole panels
        ((1, 112, 112, 16, 64), []),  # too many tiles
    ],
)
def test_panels_are_algorithms(shape, names):
    found = algorithms(convolution_program(shape))
    assert [name for name in found if "panel" in name] == names


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_products_and_results_are_a_group(epilogue):
    program = convolution_program((1, 12, 12, 16, 64), epilogue=epilogue)
    plan = plan_program(program, "winograd4_panel32")
    (group,) = [step for step in plan.steps if isinstance(step, RowBlocks)]
    assert group.blocks == 2
    assert [buffer.name for buffer in group.buffers] == ["winograd_products"]
    assert group.buffers[0].shape == (36 * 9 * 32,)
    data = [step for step in plan.steps if isinstance(step, Nest) and step.name == "winograd_data"]
    assert data


def test_the_taps_of_the_next_panel_are_fetched():
    plan = plan_program(convolution_program((1, 28, 28, 128, 128)), "winograd4_panel32")
    scheduled = apply_schedule(plan, plan.default_under_algorithm(SERVER, 1)[1])
    text = "".join(kernel_text(kernel) for kernel in scheduled.kernels)
    assert "prefetch g_taps[" in text


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("algorithm", ["winograd2_panel32", "winograd4_panel32"])
@pytest.mark.parametrize("shape", [(1, 8, 8, 16, 64), (2, 7, 9, 20, 96)])
def test_native_code_agrees(shape, algorithm, epilogue):
    program = convolution_program(shape, epilogue=epilogue)
    error = relative_error(program, algorithm, runnable_targets()[0], 2)
    assert error <= TOLERANCES[algorithm.split("_")[0]]


@pytest.mark.parametrize("algorithm", ["winograd2_panel32", "winograd4_panel32"])
def test_volumes(algorithm):
    error = relative_error(volume((3, 8, 8, 64)), algorithm, runnable_targets()[0], 2)
    assert error <= TOLERANCES[algorithm.split("_")[0]]


@pytest.mark.parametrize("seed", range(3))
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    program = convolution_program((1, 8, 8, 16, 64), epilogue=rng.choice(EPILOGUES))
    plan = plan_program(program, rng.choice(["winograd4_panel32", "winograd2_panel32"]))
    schedule = Schedule(tuple(any_choice(rng, nest) for nest in plan.nests), plan.algorithm)
    assert read_schedule(schedule.to_json(), plan) == schedule
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **dict(program.constants)})
    target, constants = rng.choice(runnable_targets()), dict(plan.program.constants)
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=2)
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


def test_panels_pay_where_products_leave_the_near_caches():
    middle = plan_program(convolution_program((1, 28, 28, 128, 128)))
    assert middle.default_schedule(SERVER, 1).algorithm == "winograd4_panel32"
    # each thread would read what the others have just transformed
    assert middle.default_schedule(SERVER, 2).algorithm == "winograd4"
