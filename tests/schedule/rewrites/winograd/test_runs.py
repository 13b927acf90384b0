"""Winograd's filtering in runs of tiles, which no count of tiles has to be a multiple of."""

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.dim import Symbol
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.blocks import TileElement, TileRuns, run_lengths
from relay_tune.schedule.rewrites.winograd.match import match_convolution
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.expression import INDEX, Literal, index_value, literal
from relay_tune.tensor.index import simplify
from relay_tune.tensor.size import symbolic_size
from tests.schedule.convolutions import (
    EPILOGUES,
    convolution_program,
    feeds_and_result,
    filtering_of,
    plan_schedule,
    relative_error,
    tolerance_of,
    winograds,
)
from tests.schedule.offered import algorithms, plan_of
from tests.schedule.running import run_schedule, runnable_targets


def test_tiles_lie_one_after_the_other():
    runs = TileRuns((2, 3, 5))
    assert runs.shape(36, (), 16) == [30, 36, 16]
    product, channel = index_value(7), index_value(4)
    tile = [literal(value, INDEX) for value in (1, 2, 3)]
    index = [simplify(part) for part in runs.index(TileElement(tile, product, (), channel))]
    assert [part.value for part in index if isinstance(part, Literal)] == [1 * 15 + 2 * 5 + 3, 7, 4]


def test_the_rest_is_a_block_of_its_own():
    plan = plan_program(convolution_program((1, 11, 18, 16, 20)), WINOGRAD(tile=4, run=4))
    (group,) = (step for step in plan.steps if isinstance(step, RowBlocks))
    assert (group.whole, group.last_rows, group.blocks) == (3, 3, 4)
    assert [buffer.shape for buffer in group.buffers] == [(36 * 4 * 16,), (36 * 4 * 20,)]
    assert not apply_schedule(plan, plan_schedule(plan)).workspace


@pytest.mark.parametrize(
    ("image", "lengths"),
    [
        ((24, 24), []),  # near: one block has all tiles
        ((160, 224), []),  # blocks of 28 tiles divide the rows of 56
        ((161, 223), [24]),  # the last tile of each row is not whole
        ((164, 164), [24]),  # 41 tiles are a prime number
    ],
)
def test_images_of_fixed_size_have_runs_where_no_block_divides_many_tiles(image, lengths):
    program = convolution_program((1, *image, 48, 48))
    found = match_convolution(program.outputs[0])
    assert run_lengths(found, filtering_of(4, 1, (3, 3))) == lengths


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("epilogue", ["bias and relu", "pad"])
@pytest.mark.parametrize("is_open", [False, True])
def test_results_join_the_runs(dilation, epilogue, is_open):
    sizes = [symbolic_size(Symbol(name), 64) for name in "hw"] if is_open else [61, 47]
    program = convolution_program((1, *sizes, 16, 16), dilation=dilation, epilogue=epilogue)
    plan = plan_program(program, WINOGRAD(tile=4, run=24))
    (group,) = (step for step in plan.steps if isinstance(step, RowBlocks))
    assert len(group.nests) == 3
    assert not apply_schedule(plan, plan_schedule(plan)).workspace


@pytest.mark.parametrize("dilation", [1, 2])
def test_runs_stand_for_one_block(dilation):
    program = convolution_program((1, 161, 223, 16, 16), dilation=dilation)
    offered = list(map(str, winograds(algorithms(program))))
    assert offered == ["winograd(tile=2, run=24)", "winograd(tile=4, run=24)"]


RUNS = [
    ((1, 8, 24, 16, 17), WINOGRAD(tile=4, run=5)),
    ((3, 9, 10, 16, 3), WINOGRAD(tile=2, run=4)),
    ((2, 13, 14, 20, 16), WINOGRAD(tile=4, run=12)),
]


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize(("number", "epilogue"), list(enumerate(EPILOGUES)))
def test_native_code_agrees(number, epilogue, dilation):
    shape, algorithm = RUNS[(number + dilation) % len(RUNS)]
    program = convolution_program(shape, epilogue=epilogue, dilation=dilation)
    target = runnable_targets()[0]
    assert relative_error(program, algorithm, target, 2) <= tolerance_of(algorithm)


@pytest.mark.parametrize("dilation", [1, 2])
def test_register_tiles_go_on_in_the_next_row(dilation):
    """What a tile of eight columns of tiles has behind a row is not stored in the next one."""
    program = convolution_program((1, 20, 21, 16, 16), dilation=dilation)
    plan = plan_of(program).with_algorithm(WINOGRAD(tile=4, run=24))
    target = runnable_targets()[0]
    schedule = plan.default_under_algorithm(machine_of(target), 1)[1]
    choices = [
        choice if nest.inside is None else replace(choice, tile=(8, *choice.tile[1:]))
        for nest, choice in zip(plan.nests, schedule.choices, strict=True)
    ]
    assert any(nest.inside is not None for nest in plan.nests)
    feeds, expected = feeds_and_result(program)
    feeds |= plan.program.constant_arrays()
    (found,) = run_schedule(plan, replace(schedule, choices=tuple(choices)), target, feeds)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


def test_unknown_runs_are_refused():
    with pytest.raises(InputError, match="There is no algorithm winograd"):
        WINOGRAD(tile=4, run=0)
