"""Pooling written out where Winograd's filtering computes what it reads."""

import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.written_windows import written_out
from relay_tune.tensor.expression import Axis, Reduce, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import (
    POOLINGS,
    TILES,
    convolution_program,
    plan_schedule,
    relative_error,
    tolerance_of,
)
from tests.schedule.running import runnable_targets

SHAPES = [(1, 8, 8, 16, 16), (2, 14, 10, 16, 20), (1, 13, 27, 16, 16), (1, 7, 6, 17, 33)]


CASES = [
    (shape, pooling, list(TILES)[(number + turn) % len(TILES)])
    for number, shape in enumerate(SHAPES)
    for turn, pooling in enumerate(POOLINGS)
]
"""Each pooling and each shape under each algorithm, with another shape or pooling."""


@pytest.mark.parametrize(("shape", "pooling", "algorithm"), CASES)
def test_native_code_agrees(shape, pooling, algorithm):
    program = convolution_program(shape, epilogue=pooling)
    assert relative_error(program, algorithm, runnable_targets()[0], 2) <= tolerance_of(algorithm)


def test_blocks_of_tiles_are_pooled_where_they_are():
    program = convolution_program((1, 56, 56, 16, 16), epilogue="relu, largest, pad")
    assert relative_error(program, WINOGRAD(tile=4, block=28), runnable_targets()[0], 2) <= 2e-5


@pytest.mark.parametrize("pooling", POOLINGS[:3])
def test_the_larger_image_is_not_stored(pooling):
    plan = plan_program(
        convolution_program((1, 16, 16, 16, 16), epilogue=pooling), WINOGRAD(tile=4)
    )
    kernels = len(apply_schedule(plan, plan_schedule(plan)).kernels)
    assert kernels == 3


def test_windows_that_cross_tiles_keep_their_loops():
    program = convolution_program((1, 12, 12, 16, 16), epilogue="largest by three")
    (result,) = WINOGRAD(tile=4).prepared(program).outputs
    assert isinstance(result.body, Reduce)


DATA = input_tensor("data", (12, 12, 8), "float32")
ELEMENTWISE = compute("twice", DATA.shape, lambda *at: DATA[at] * 2.0)
ROWS, COLUMNS, LONG = Axis("kh", 2), Axis("kw", 2), Axis("k", 12)
KEPT = {
    "overlapping": ((11, 6, 8), [ROWS], lambda i, j, c: (i + ROWS, j, c)),
    "dilated": ((5, 6, 8), [ROWS], lambda i, j, c: (i * 2 + ROWS * 2, j, c)),
    "channels": ((6, 6, 4), [ROWS], lambda i, j, c: (i, j, c * 2 + ROWS)),
    "a whole axis": ((6, 6, 8), [LONG], lambda i, j, c: (i, LONG, c)),
    "a repetition": ((6, 6, 8), [ROWS, COLUMNS], lambda i, j, c: (i * 2 + ROWS, j, c)),
}


@pytest.mark.parametrize("case", KEPT)
def test_other_windows_keep_their_loops(case):
    shape, axes, indices = KEPT[case]
    stage = compute("r", shape, lambda *at: reduce("max", axes, ELEMENTWISE[indices(*at)]))
    assert written_out(stage, {ELEMENTWISE}, 4) is stage


def test_only_elementwise_operands_are_written_out():
    def element(i, j, c):
        return reduce("max", [ROWS, COLUMNS], ELEMENTWISE[i * 2 + ROWS, j * 2 + COLUMNS, c])

    stage = compute("pool", (6, 6, 8), element)
    assert written_out(stage, set(), 4) is stage
    assert not isinstance(written_out(stage, {ELEMENTWISE}, 4).body, Reduce)
    assert written_out(stage, {ELEMENTWISE}, 3) is stage
