"""Convolutions of stride 2: F(m, 2) of the even positions beside the odd ones."""

import random

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.blocks import tile_counts
from relay_tune.schedule.rewrites.winograd.match import match_convolution
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.transforms import transformed_taps
from tests.schedule.convolutions import (
    EPILOGUES,
    SERVER,
    convolution_program,
    error_of_any_schedule,
    filtering_of,
    relative_error,
    winograds,
)
from tests.schedule.offered import algorithms
from tests.schedule.running import runnable_targets


def test_the_stride_is_that_of_rows_and_columns():
    program = convolution_program((1, 8, 8, 16, 16), stride=2)
    found = match_convolution(program.outputs[0])
    assert found is not None
    assert found.stride == 2


def test_only_tiles_of_two_by_two_are_offered():
    names = algorithms(convolution_program((1, 12, 12, 16, 16), stride=2))
    assert winograds(names) == [
        WINOGRAD(tile=2),
        WINOGRAD(tile=2, block=12),
        WINOGRAD(tile=2, block=18),
    ]


def test_the_tap_between_stands_twice():
    taps = np.random.default_rng(2).standard_normal((3, 3, 4, 5))
    found = transformed_taps(filtering_of(2, 2, (3, 3)), taps)
    assert found.shape == (25, 4, 5)
    assert np.allclose(found[3 * 5 + 1], taps[1, 0] + taps[1, 2])
    assert np.array_equal(found[3 * 5 + 3], found[4 * 5 + 4])


def test_blocks_count_tiles_of_results():
    program = convolution_program((1, 28, 28, 32, 32), stride=2)
    found = match_convolution(program.outputs[0])
    assert tile_counts(found, filtering_of(2, 2, (3, 3))) == [28, 14]


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize(
    ("shape", "algorithm"),
    [
        ((1, 7, 7, 16, 16), WINOGRAD(tile=2)),
        ((1, 13, 6, 17, 9), WINOGRAD(tile=2)),
        ((2, 4, 4, 48, 1), WINOGRAD(tile=2)),
        ((1, 8, 12, 16, 17), WINOGRAD(tile=2, block=6)),
        ((2, 9, 8, 20, 16), WINOGRAD(tile=2, block=16)),
    ],
)
def test_native_code_agrees(shape, algorithm, epilogue):
    program = convolution_program(shape, stride=2, epilogue=epilogue)
    assert relative_error(program, algorithm, runnable_targets()[0], 2) <= 2e-6


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 6))]
)
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    program = convolution_program((2, 8, 10, 16, rng.choice([16, 21])), stride=2)
    assert (
        error_of_any_schedule(
            program, rng.choice([WINOGRAD(tile=2), WINOGRAD(tile=2, block=10)]), rng
        )
        <= 2e-6
    )


def test_the_default_follows_the_work():
    plan = plan_program(convolution_program((1, 14, 14, 256, 256), stride=2))
    assert plan.default_schedule(SERVER, 1).algorithm in winograds(plan.algorithms)
    few = plan_program(convolution_program((1, 14, 14, 256, 4), stride=2))
    assert few.default_schedule(SERVER, 1).algorithm not in winograds(few.algorithms)
