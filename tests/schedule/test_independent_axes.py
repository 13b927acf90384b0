"""Tiles of several groups of a convolution, each of which has channels and weights of its own."""

import random
from math import prod

import numpy as np
import pytest

from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.schedule.space.space import NestSpace
from relay_tune.tensor.evaluate import evaluate
from tests.schedule.convolutions import convolution_program, feeds_of
from tests.schedule.grouped_convolutions import Grouped
from tests.schedule.machines import SERVER
from tests.schedule.nest_spaces import depthwise, space_of
from tests.schedule.random_choices import any_choice, point_of_space
from tests.schedule.running import run_schedule, runnable_targets

SHAPES = (
    Grouped(4, 16, 16, 5),
    Grouped(3, 32, 16, 4, stride=2),
    Grouped(5, 16, 32, 3, dilation=2),
    Grouped(2, 24, 24, 7, stride=2),
    Grouped(7, 5, 12, 5),
    Grouped(3, 20, 36, 4, kernel=1),
    Grouped(9, 16, 2, 5, stride=2),
    Grouped(4, 2, 16, 6),
    Grouped(6, 8, 8, 5, stride=2),
    Grouped(8, 4, 4, 5, dilation=2),
    Grouped(6, 2, 2, 7, stride=2),
)


def space(shape: Grouped) -> NestSpace:
    (found,) = plan_program(shape.program()).spaces(SERVER, 2)
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("number", range(len(runnable_targets())))
def test_every_schedule_is_right(shape, number):
    """The default on each target, beside it a point of the space or any schedule, in turns."""
    target, program = runnable_targets()[number], shape.program()
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    plan = plan_program(program)
    rng = random.Random(repr(shape))
    (found,) = plan.spaces(SERVER, 2)
    points = point_of_space(rng, found), any_choice(rng, plan.nests[0])
    turn = (number + SHAPES.index(shape)) % len(points)
    for schedule in (plan.default_schedule(machine_of(target), 2), Schedule((points[turn],))):
        assert_right(plan, schedule, feeds, expected, target)


def assert_right(plan: Plan, schedule: Schedule, feeds: dict, expected: np.ndarray, target) -> None:
    constants = plan.program.constant_arrays()
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4, err_msg=schedule.to_json())


def test_groups_may_share_a_tile_and_stand_in_any_order():
    found = space(Grouped(4, 16, 16, 5))
    choices = dict(zip(found.names, found.values, strict=True))
    assert found.analysis.independent == (2,)
    assert choices["tile2"] == (1, 2, 3, 4)
    assert {order.index(2) for order in choices["order"]} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "other",
    [
        space(Grouped(3, 20, 36, 4, kernel=1)),
        space(Grouped(8, 4, 4, 5)),
        space_of(depthwise(64, 7)),
        plan_program(convolution_program((2, 7, 7, 64, 32))).spaces(SERVER, 2)[0],
    ],
    ids=["no window", "groups within vectors", "depthwise", "one group"],
)
def test_nothing_else_has_such_axes(other):
    assert other.analysis.independent == ()


def test_the_default_takes_several_groups_where_few_points_find_room():
    """512 channels and a stride of 2: neighbouring points want the same set of the cache."""
    choice = plan_program(Grouped(32, 16, 16, 14, stride=2).program()).default_schedule(SERVER, 1)
    rows, columns, groups, _ = choice.choices[0].tile
    assert groups > 1
    assert rows * columns < 14
    assert prod(choice.choices[0].tile) // 16 >= 8
