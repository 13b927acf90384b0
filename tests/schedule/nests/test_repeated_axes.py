"""Grouped convolutions with few channels in a group: vectors over several groups."""

import random
from functools import cache

import numpy as np
import pytest

from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, binary, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.random_choices import any_choice, point_of_space
from tests.schedule.running import run_schedule, runnable_targets

SIZE = 6


@cache
def grouped(groups: int, inputs: int, outputs: int) -> tuple[Plan, dict, np.ndarray]:
    """relu(conv3x3) with so many inputs and outputs in each group; its inputs and its result."""
    x = input_tensor("x", (SIZE, SIZE, groups * inputs), "float32")
    w = input_tensor("w", (3, 3, inputs, groups * outputs), "float32")
    kh, kw, c = Axis("kh", 3), Axis("kw", 3), Axis("c", inputs)
    side = SIZE - 2

    def element(i, j, o):
        read = x[i + kh, j + kw, (o // outputs) * inputs + c]
        return reduce("sum", [kh, kw, c], read * w[kh, kw, c, o])

    total = compute("total", (side, side, groups * outputs), element)
    result = compute("relu", total.shape, lambda i, j, o: binary("max", total[i, j, o], 0.0))
    rng = np.random.default_rng(groups)
    data, taps = (rng.standard_normal(t.shape, np.float32) for t in (x, w))
    (expected,) = evaluate((result,), {x: data, w: taps})
    plan = plan_program(TensorProgram((x,), (result,), ((w, taps),)))
    return plan, {x: data, w: taps}, expected


def assert_right(plan: Plan, schedule: Schedule, feeds: dict, expected: np.ndarray, target) -> None:
    (found,) = run_schedule(plan, schedule, target, feeds, threads=2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("groups", "inputs", "outputs"), [(32, 4, 4), (6, 4, 4), (8, 2, 2), (24, 1, 2), (5, 8, 8)]
)
@pytest.mark.parametrize("target", runnable_targets(), ids=str)
def test_every_schedule_is_right(groups, inputs, outputs, target):
    plan, feeds, expected = grouped(groups, inputs, outputs)
    rng = random.Random(groups)
    (space,) = plan.spaces(SERVER, 2)
    assert_right(plan, plan.default_schedule(machine_of(target), 2), feeds, expected, target)
    for _ in range(3):
        for choice in (point_of_space(rng, space), any_choice(rng, plan.nests[0])):
            assert_right(plan, Schedule((choice,)), feeds, expected, target)


def test_the_default_fills_vectors_with_several_groups():
    plan, _, _ = grouped(32, 4, 4)
    assert [axis.extent for axis in plan.nests[0].axes][-1] == 128
    choice = plan.default_schedule(SERVER, 1).choices[0]
    assert (choice.vector, choice.lanes) == (2, 16)


def test_long_groups_keep_their_own_axis():
    plan, _, _ = grouped(2, 4, 16)
    assert [axis.extent for axis in plan.nests[0].axes][-2:] == [2, 16]


def test_a_step_shuffles_and_written_out_steps_share_what_they_shuffle():
    plan, _, _ = grouped(32, 4, 4)
    (space,) = plan.spaces(SERVER, 1)
    chosen = dict(zip(space.names, (values[0] for values in space.values), strict=True))
    chosen |= {"vector": (2, 16), "vectors": 1, "tile1": 4, "reduction_order": (0, 2, 1)}
    costs = [
        space.estimate(space.decode({**chosen, "unroll": unroll})).compute_cycles
        for unroll in (1, 3)
    ]
    assert costs[1] < 0.8 * costs[0]


def test_images_with_channels_first_keep_the_axis_of_groups():
    """Lanes over several groups would gather their elements from as many planes."""
    x = input_tensor("x", (32 * 4, SIZE, SIZE), "float32")
    w = input_tensor("w", (4, 32 * 4), "float32")
    c = Axis("c", 4)

    def element(i, j, g, r):
        return reduce("sum", [c], x[g * 4 + c, i, j] * w[c, g * 4 + r])

    total = compute("total", (SIZE, SIZE, 32, 4), element)
    plan = plan_program(TensorProgram((x,), (total,), ((w, np.zeros(w.shape, np.float32)),)))
    assert [axis.extent for axis in plan.nests[0].axes] == [SIZE * SIZE, 32, 4]
