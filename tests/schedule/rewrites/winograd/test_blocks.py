"""Winograd's filtering in blocks of tiles."""

import random

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program, read_schedule
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.blocks import tile_bands, tile_counts
from relay_tune.schedule.rewrites.winograd.match import match_convolution
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from tests.schedule.convolutions import (
    EPILOGUES,
    SERVER,
    TILES,
    convolution_program,
    feeds_of,
    filtering_of,
    plan_schedule,
    relative_error,
    tolerance_of,
    winograds,
)
from tests.schedule.offered import algorithms
from tests.schedule.random_choices import SMALL_TILE, any_choice
from tests.schedule.running import run_schedule, runnable_targets


def convolution_of(*shape):
    program = convolution_program(shape)
    return match_convolution(program.outputs[0])


@pytest.mark.parametrize(
    ("shape", "tiles", "block", "blocks"),
    [
        ((1, 56, 56, 64, 64), 14, (1, 1, 14), (1, 14, 1)),
        ((1, 56, 56, 64, 64), 28, (1, 2, 14), (1, 7, 1)),
        ((1, 56, 56, 64, 64), 7, (1, 1, 7), (1, 14, 2)),
        ((3, 16, 16, 16, 16), 16, (1, 4, 4), (3, 1, 1)),
        ((1, 56, 56, 64, 64), 13, (1, 14, 14), (1, 1, 1)),
        ((1, 56, 54, 64, 64), 14, (1, 1, 14), (1, 14, 1)),
        ((1, 56, 54, 64, 64), 7, (1, 14, 14), (1, 1, 1)),
        ((1, 56, 56, 64, 64), None, (1, 14, 14), (1, 1, 1)),
    ],
)
def test_blocks_divide_the_tiles(shape, tiles, block, blocks):
    (found,) = tile_bands(convolution_of(*shape), filtering_of(4, 1, (3, 3)), tiles)
    assert (found.block, found.blocks) == (block, blocks)


def test_the_last_row_of_tiles_is_a_band_where_it_is_not_whole():
    upper, lower = tile_bands(convolution_of(2, 55, 55, 16, 16), filtering_of(4, 1, (3, 3)), 14)
    assert (upper.counts, upper.blocks, upper.first) == ((2, 13, 14), (2, 13, 1), 0)
    assert (lower.counts, lower.blocks, lower.first) == ((2, 1, 14), (2, 1, 1), 13)


def test_counts_that_are_worth_a_look():
    assert tile_counts(convolution_of(1, 56, 56, 64, 64), filtering_of(4, 1, (3, 3))) == [28, 14]
    assert tile_counts(convolution_of(1, 56, 56, 256, 256), filtering_of(4, 1, (3, 3))) == [14]
    assert tile_counts(convolution_of(1, 58, 56, 64, 64), filtering_of(4, 1, (3, 3))) == [28, 14]
    assert tile_counts(convolution_of(1, 27, 27, 64, 64), filtering_of(4, 1, (3, 3))) == [21, 14]
    assert tile_counts(convolution_of(1, 14, 14, 64, 64), filtering_of(4, 1, (3, 3))) == []
    assert tile_counts(convolution_of(1, 16, 16, 64, 64), filtering_of(4, 1, (3, 3))) == []
    assert tile_counts(convolution_of(2, 16, 16, 64, 64), filtering_of(4, 1, (3, 3))) == [16]


def test_blocks_are_algorithms():
    program = convolution_program((1, 24, 24, 16, 16))
    names = algorithms(program)
    assert names[-4:] == (
        WINOGRAD(tile=2, block=24),
        WINOGRAD(tile=2, block=36),
        WINOGRAD(tile=4, block=12),
        WINOGRAD(tile=4, block=18),
    )
    exact = plan_program(program).with_accuracy(Accuracy.EXACT).algorithms
    assert not winograds(exact)


def test_what_stages_leave_each_other_is_local():
    plan = plan_program(convolution_program((1, 24, 24, 16, 20)), WINOGRAD(tile=4, block=12))
    (group,) = plan.steps
    assert isinstance(group, RowBlocks)
    assert group.blocks == 3
    assert [buffer.shape for buffer in group.buffers] == [(36 * 12 * 16,), (36 * 12 * 20,)]
    scheduled = apply_schedule(plan, plan_schedule(plan))
    assert len(scheduled.kernels) == 1
    assert not scheduled.workspace


BLOCKS = [
    ((1, 8, 24, 16, 17), WINOGRAD(tile=4, block=2)),
    ((1, 8, 24, 16, 17), WINOGRAD(tile=4, block=6)),
    ((2, 16, 16, 20, 16), WINOGRAD(tile=4, block=8)),
    ((3, 8, 8, 16, 3), WINOGRAD(tile=4, block=4)),
    ((2, 8, 6, 16, 16), WINOGRAD(tile=2, block=3)),
    ((1, 8, 6, 16, 16), WINOGRAD(tile=2, block=6)),
    ((1, 7, 6, 16, 16), WINOGRAD(tile=2, block=3)),
    ((2, 9, 10, 16, 16), WINOGRAD(tile=4, block=3)),
    ((1, 19, 23, 16, 17), WINOGRAD(tile=4, block=12)),
    ((1, 16, 14, 16, 16), WINOGRAD(tile=4, block=8)),
]
CASES = [
    (*block, epilogue)
    for number, block in enumerate(BLOCKS)
    for turn, epilogue in enumerate(EPILOGUES)
    if (number + turn) % 2 == 0
]
"""Two or three epilogues for each blocking, five blockings for each epilogue."""


@pytest.mark.parametrize(("shape", "algorithm", "epilogue"), CASES)
def test_native_code_agrees(shape, algorithm, epilogue):
    program = convolution_program(shape, epilogue=epilogue)
    target = runnable_targets()[0]
    assert relative_error(program, algorithm, target, 2) <= tolerance_of(algorithm)


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 12))]
)
def test_every_schedule_is_right(seed):
    rng = random.Random(seed)
    epilogue = rng.choice(EPILOGUES)
    program = convolution_program((2, 8, 16, 16, rng.choice([16, 21])), epilogue=epilogue)
    plan = plan_program(
        program, rng.choice([WINOGRAD(tile=4, block=2), WINOGRAD(tile=2, block=16)])
    )
    choices = tuple(any_choice(rng, nest, SMALL_TILE) for nest in plan.nests)
    schedule = Schedule(choices, plan.algorithm)
    assert read_schedule(schedule.to_json(), plan) == schedule
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    target, constants = rng.choice(runnable_targets()), plan.program.constant_arrays()
    (found,) = run_schedule(plan, schedule, target, {**feeds, **constants}, threads=2)
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


@pytest.mark.parametrize("values", [{"tile": 3}, {"block": 4}, {"tile": 4, "block": 0}])
def test_unknown_tiles_and_blocks_are_refused(values):
    with pytest.raises(InputError, match="There is no algorithm winograd"):
        WINOGRAD(**values)


def test_blocks_pay_where_the_whole_image_leaves_the_caches():
    large = plan_program(convolution_program((1, 112, 112, 64, 64)))
    blocks = [WINOGRAD(tile=4, block=count) for count in (14, 28)]
    assert large.default_schedule(SERVER, 1).algorithm in blocks
    small = plan_program(convolution_program((1, 8, 8, 64, 64)))
    assert small.default_schedule(SERVER, 1).algorithm in (DIRECT, *TILES)
