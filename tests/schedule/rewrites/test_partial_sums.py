"""Sums that are much longer than there are results, in parts."""

import random
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites import partial_sums
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.partial_sums import (
    PARTIAL_SUMS,
    PartialSums,
    partial_sums_program,
)
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import feeds_of
from tests.schedule.machines import core, with_sizes
from tests.schedule.products import dense, weight_gradient
from tests.schedule.random_choices import any_choice
from tests.schedule.running import run_schedule, runnable_targets

SERVER = with_sizes(core(64, 32), (32 << 10, 768 << 10, 32 << 20))
TOLERANCE = 1e-5


def outputs_of(plan: Plan, schedule: Schedule, threads: int) -> np.ndarray:
    (found,) = run_schedule(
        plan, schedule, runnable_targets()[0], feeds_of(plan.source), threads=threads
    )
    return found


def error(plan: Plan, schedule: Schedule, threads: int = 2) -> float:
    (expected,) = evaluate(plan.source.outputs, feeds_of(plan.source))
    found = outputs_of(plan, schedule, threads)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize(
    ("program", "applies"),
    [
        (weight_gradient(8, 16, 24, 16), True),
        (weight_gradient(2, 16, 24, 16), False),
        (weight_gradient(8, 16, 24, 16, last=False), False),
        (weight_gradient(8, 16, 3, 3), False),
        (dense(24, 4096, 32, constant=False), True),
        (dense(24, 4096, 32), False),
        (dense(1600, 4096, 1600, constant=False), False),
    ],
    ids=["pixels", "short", "torn lines", "few uses", "product", "weights", "many results"],
)
def test_where_sums_are_cut(program, applies):
    steps = PartialSums(256)
    assert (PARTIAL_SUMS(steps=256) in plan_program(program).algorithms) is applies
    assert (partial_sums_program(program, steps) is not None) is applies


def test_long_parts_are_for_batches_of_sums():
    plan = plan_program(weight_gradient(8, 16, 24, 16))
    assert PARTIAL_SUMS(steps=512) not in plan.algorithms
    assert plan.with_algorithm(PARTIAL_SUMS(steps=512)).nests  # a logged schedule still stands
    x, d = (input_tensor(name, (16, 4096, 24), "float32") for name in "xd")

    def batch(b, i, o):
        s = Axis("s", 4096)
        return reduce("sum", [s], x[b, s, i] * d[b, s, o])

    sums = TensorProgram((x, d), (compute("y", (16, 24, 24), batch),), ())
    known = plan_program(sums).algorithms
    assert {PARTIAL_SUMS(steps=256), PARTIAL_SUMS(steps=512)} <= set(known)


def test_images_stay_whole_where_several_make_a_part():
    plan = plan_program(weight_gradient(8, 16, 24, 16), PARTIAL_SUMS(steps=512))
    parts, total = plan.nests[-2:]
    assert [axis.extent for axis in parts.axes] == [4, 24, 16]
    assert [axis.extent for axis in total.reduction] == [4]


def test_images_are_cut_where_they_are_large():
    plan = plan_program(weight_gradient(2, 64, 64, 32), PARTIAL_SUMS(steps=512))
    assert [axis.extent for axis in plan.nests[-1].reduction] == [2 * 8]


@pytest.fixture
def few_results_count(monkeypatch):
    """Parts are added up where they are stored, however few results they have."""
    monkeypatch.setattr(partial_sums, "NEAR_RESULTS", 0)


def test_many_parts_are_added_up_in_a_few_sums():
    plan = plan_program(weight_gradient(16, 32, 256, 64), PARTIAL_SUMS(steps=512))
    *_, parts, total = plan.nests
    assert [axis.extent for axis in parts.carried] == [4]
    assert [axis.extent for axis in parts.axes] == [8, 4, 256, 64]
    assert [axis.extent for axis in parts.reduction] == [512]
    assert [axis.extent for axis in total.reduction] == [8]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"parallel": 2}, "parts in parallel"),
        ({"tile": (1, 2, 1, 16)}, "a tile of several parts"),
        ({"vector": 1, "tile": (1, 1, 1, 1)}, "a tile of several parts"),
    ],
    ids=["parallel", "tile", "lanes"],
)
def test_parts_of_a_sum_stay_one_after_the_other(changes, why):
    plan = plan_program(weight_gradient(16, 32, 256, 64), PARTIAL_SUMS(steps=512))
    *_, (parts, choice), _ = zip(
        plan.nests, plan.default_under_algorithm(SERVER, 1)[1].choices, strict=True
    )
    whole = replace(choice, order=(0, 1, 2, 3), parallel=1)
    assert misfit(whole, parts) is None
    assert why in str(misfit(replace(whole, **changes), parts))


@pytest.mark.parametrize(
    "program",
    [
        weight_gradient(8, 16, 64, 48),
        weight_gradient(3, 40, 20, 33),
        weight_gradient(8, 16, 32, 96),
        dense(24, 4096, 32),
    ],
    ids=["panels", "odd sizes", "turned", "weights"],
)
def test_native_code_agrees(program, few_results_count):
    plan = plan_program(program)
    for algorithm in (each for each in plan.algorithms if "partial_sums" in str(each)):
        cut = plan.with_algorithm(algorithm)
        assert error(cut, cut.default_under_algorithm(SERVER, 2)[1]) <= TOLERANCE


@pytest.mark.parametrize(
    ("inputs", "outputs", "turned"),
    [(64, 256, True), (256, 64, False), (64, 64, False), (8, 256, False), (128, 256, False)],
    ids=["few inputs", "few outputs", "equal", "less than a line", "both want copies"],
)
def test_parts_are_turned_where_only_that_saves_a_copy(inputs, outputs, turned):
    plan = plan_program(weight_gradient(8, 16, inputs, outputs))
    assert (PARTIAL_SUMS(steps=256, turned=True) in plan.algorithms) is turned


def test_turned_parts_copy_nothing_and_end_with_the_other_columns():
    plan = plan_program(weight_gradient(8, 16, 64, 256), PARTIAL_SUMS(steps=512, turned=True))
    parts, total = plan.nests
    assert [axis.extent for axis in parts.axes] == [4, 256, 64]
    assert [axis.extent for axis in total.axes] == [64, 256]


@pytest.mark.parametrize("seed", range(4))
def test_every_schedule_is_right(seed, few_results_count):
    rng = random.Random(seed)
    images = rng.randint(8, 12) if seed < 2 else 32  # more parts than sums
    program = weight_gradient(images, 16, 20, 18)
    plan = plan_program(program, PARTIAL_SUMS(steps=256, turned=seed % 2 == 1))
    choices = tuple(any_choice(rng, nest) for nest in plan.nests)
    assert error(plan, Schedule(choices, plan.algorithm)) <= TOLERANCE


@pytest.mark.parametrize("images", [8, 32], ids=["parts", "sums of parts"])
def test_the_bits_are_those_of_any_number_of_threads(images, few_results_count):
    plan = plan_program(weight_gradient(images, 16, 64, 64), PARTIAL_SUMS(steps=256))
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    one, two = (outputs_of(plan, schedule, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_the_default_cuts_sums_that_leave_the_second_cache():
    plan = plan_program(weight_gradient(32, 56, 64, 256))
    known = {each: plan.with_algorithm(each) for each in (DIRECT, PARTIAL_SUMS(steps=512))}
    direct, cut = (each.default_under_algorithm(SERVER, 1)[0] for each in known.values())
    assert 1.5 * cut < direct


def test_rows_follow_parts_but_not_those_of_transformed_images():
    assert PARTIAL_SUMS(steps=256).can_be_followed_by(ROWS)
    filtered = WINOGRAD(tile=4) + PARTIAL_SUMS(steps=256)
    assert not filtered.can_be_followed_by(ROWS)


def test_empty_sums_have_no_parts():
    assert not any("partial_sums" in str(each) for each in plan_program(dense(4, 0, 8)).algorithms)
