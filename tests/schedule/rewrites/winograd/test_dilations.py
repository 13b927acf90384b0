"""Convolutions whose taps lie apart: the image is filtered in phases."""

import random
from functools import cache

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.blocks import TileBlocks, tile_bands, tile_counts
from relay_tune.schedule.rewrites.winograd.match import match_convolution
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.tensor.evaluate import evaluate
from tests.schedule.convolutions import (
    EPILOGUES,
    SERVER,
    TILES,
    convolution_program,
    error_of_any_schedule,
    feeds_of,
    filtering_of,
    relative_error,
    some_of,
    tolerance_of,
    winograds,
)
from tests.schedule.offered import algorithms
from tests.schedule.running import runnable_targets


def matched(shape, dilation):
    program = convolution_program(shape, dilation=dilation)
    found = match_convolution(program.outputs[0])
    assert found is not None
    return found


def test_tiles_have_the_places_of_one_phase():
    found = matched((1, 16, 24, 16, 16), 2)
    filtering = filtering_of(4, 1, (3, 3))
    assert found.dilations == (2, 2)
    assert tile_bands(found, filtering, None) == (TileBlocks((1, 4, 6), (1, 4, 6)),)


def test_blocks_are_whole_phases_or_some_of_a_period():
    filtering = filtering_of(4, 1, (3, 3))
    assert tile_counts(matched((1, 32, 32, 64, 64), 4), filtering) == [32, 16]
    assert tile_counts(matched((1, 24, 24, 64, 64), 6), filtering) == [18, 12]


def test_the_last_period_is_a_band():
    found = matched((1, 22, 16, 16, 16), 2)
    first, last = tile_bands(found, filtering_of(4, 1, (3, 3)), 8)
    assert first == TileBlocks((1, 4, 4), (1, 2, 4))
    assert last == TileBlocks((1, 2, 4), (1, 2, 4), 4)


@pytest.mark.parametrize("dilation", [2, 3, 5])
@pytest.mark.parametrize("size", [(6, 11), (12, 12), (13, 17)])
def test_the_interpreter_agrees(dilation, size):
    program = convolution_program((2, *size, 16, 3), dilation=dilation)
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    for algorithm, outputs in TILES.items():
        changed = winograd_program(program, outputs)
        assert changed is not None
        (found,) = evaluate(changed.outputs, {**feeds, **changed.constant_arrays()})
        assert np.abs(found - expected).max() <= tolerance_of(algorithm) * np.abs(expected).max()


DILATED = [
    ((1, 24, 24, 16, 17), 2),
    ((2, 16, 24, 16, 16), 4),
    ((1, 30, 25, 17, 16), 3),
    ((1, 26, 48, 16, 16), 6),
    ((1, 20, 20, 16, 16), 18),
]


@cache
def offered(number):
    """What is offered for a dilated convolution, whatever follows it."""
    shape, dilation = DILATED[number]
    return algorithms(convolution_program(shape, dilation=dilation))


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("number", range(len(DILATED)))
def test_native_code_agrees(number, epilogue):
    shape, dilation = DILATED[number]
    program = convolution_program(shape, dilation=dilation, epilogue=epilogue)
    for name in some_of(offered(number), number + EPILOGUES.index(epilogue)):
        tolerance = tolerance_of(name)
        assert relative_error(program, name, runnable_targets()[0], 2) <= tolerance


@pytest.mark.parametrize("kernel", [(1, 3), (3, 1)])
def test_native_code_of_one_dimension_agrees(kernel):
    program = convolution_program((1, 24, 21, 16, 16), kernel=kernel, dilation=3)
    for name in winograds(algorithms(program)):
        tolerance = tolerance_of(name)
        assert relative_error(program, name, runnable_targets()[0], 2) <= tolerance


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 6))]
)
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    shape = (1, rng.choice([24, 28]), 24, 16, rng.choice([16, 21]))
    program = convolution_program(shape, dilation=rng.choice([2, 3]))
    names = winograds(algorithms(program))
    assert error_of_any_schedule(program, rng.choice(names), rng) <= 2e-5


def test_the_default_follows_the_work():
    plan = plan_program(convolution_program((1, 32, 32, 128, 128), dilation=2))
    assert plan.default_schedule(SERVER, 1).algorithm in winograds(plan.algorithms)
    few = plan_program(convolution_program((1, 32, 32, 128, 1), dilation=2))
    assert few.default_schedule(SERVER, 1).algorithm not in winograds(few.algorithms)
