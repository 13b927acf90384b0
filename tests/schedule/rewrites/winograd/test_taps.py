"""Convolutions whose taps are arguments: they are transformed in each call."""

import random
from functools import cache

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.transforms import (
    rows_of_taps,
    transformed_taps,
)
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, literal, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_value import scalar_value
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import (
    SERVER,
    convolution_program,
    error_of_any_schedule,
    feeds_and_result,
    filtering_of,
    plan_schedule,
    relative_error,
    tolerance_of,
    winograds,
)
from tests.schedule.nest_spaces import AVX2
from tests.schedule.offered import algorithms
from tests.schedule.running import run_schedule, runnable_targets

CASES = {
    "odd sizes": ({"shape": (2, 7, 9, 17, 13)}, WINOGRAD(tile=4)),
    "whole panels": ({"shape": (1, 8, 8, 16, 96)}, WINOGRAD(tile=2)),
    "blocks": ({"shape": (2, 16, 16, 16, 32)}, WINOGRAD(tile=4, block=16)),
    "a padded result": ({"shape": (2, 6, 6, 16, 16), "epilogue": "pad"}, WINOGRAD(tile=4)),
    "taps as OIHW": ({"shape": (2, 8, 8, 16, 20), "layout": "OIHW"}, WINOGRAD(tile=4)),
    "stride": ({"shape": (2, 8, 8, 16, 20), "stride": 2}, WINOGRAD(tile=2)),
    "dilation": ({"shape": (1, 9, 9, 16, 16), "dilation": 2}, WINOGRAD(tile=4)),
    "one dimension": ({"shape": (2, 11, 5, 16, 16), "kernel": (3, 1)}, WINOGRAD(tile=4)),
}


def variable(**options) -> TensorProgram:
    return convolution_program(constant=False, **options)


@cache
def of_case(case):
    """A program, the same for all targets, and an algorithm for it."""
    options, algorithm = CASES[case]
    return variable(**options), algorithm


def test_default_schedules_fit_where_many_taps_are_transformed():
    program = variable(shape=(8, 8, 8, 16, 16))
    plan = plan_program(program)
    for machine in (SERVER, AVX2):
        chosen = plan.default_schedule(machine, 1)
        assert read_schedule(chosen.to_json(), plan) == chosen


@pytest.mark.parametrize("tile", [2, 4])
def test_expressions_are_the_transform_of_constants(tile):
    filtering = filtering_of(tile, 1, (3, 1)).rows
    taps = np.random.default_rng(0).standard_normal(3)
    rows = rows_of_taps(filtering)([literal(value, "float64") for value in taps])
    found = [float(scalar_value(row, {}, {})) for row in rows]
    assert np.allclose(found, filtering.taps @ taps, rtol=1e-12)


@pytest.mark.parametrize("target", runnable_targets(), ids=lambda each: each.cpu)
@pytest.mark.parametrize("case", CASES)
def test_native_code_agrees(case, target):
    program, algorithm = of_case(case)
    assert algorithm in algorithms(program)
    assert relative_error(program, algorithm, target, 2) <= tolerance_of(algorithm)


@pytest.mark.parametrize("seed", range(3))
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    program = variable(shape=(2, 8, 8, 16, rng.choice([16, 21])))
    algorithm = rng.choice(winograds(algorithms(program)))
    assert error_of_any_schedule(program, algorithm, rng) <= tolerance_of(algorithm)


def test_turned_taps_are_read_where_they_lie():
    x, g = (
        input_tensor("x", (1, 10, 10, 16), "float32"),
        input_tensor("g", (3, 3, 20, 16), "float32"),
    )
    turned = compute("turned", (3, 3, 16, 20), lambda i, j, c, o: g[2 - i, 2 - j, o, c])
    kh, kw, c = Axis("kh", 3), Axis("kw", 3), Axis("c", 16)

    def element(n, h, w, o):
        return reduce("sum", [kh, kw, c], x[n, h + kh, w + kw, c] * turned[kh, kw, c, o])

    program = TensorProgram((x, g), (compute("convolution", (1, 8, 8, 20), element),), ())
    plan = plan_program(program, WINOGRAD(tile=4))
    assert len(plan.nests) == 4
    feeds, expected = feeds_and_result(program)
    (found,) = run_schedule(plan, plan_schedule(plan), runnable_targets()[0], feeds, threads=2)
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


def test_taps_are_transformed_once_into_panels():
    program = WINOGRAD(tile=4).prepared(variable(shape=(4, 8, 8, 16, 128)))
    stages = {tensor.name: tensor for tensor in tensors_in_order(program.outputs)}
    assert stages["winograd_taps"].shape == (36, 2, 16, 64)
    filtering = filtering_of(4, 1, (3, 3))
    assert transformed_taps(filtering, np.ones((3, 3, 16, 128))).shape == (36, 16, 128)


def test_the_default_follows_the_work():
    for images, pays in ((32, True), (1, False)):
        plan = plan_program(variable(shape=(images, 4, 4, 512, 512)))
        chosen = plan.default_schedule(SERVER, 1).algorithm
        assert (chosen in winograds(plan.algorithms)) == pays
