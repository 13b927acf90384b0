"""Winograd's filtering of volumes: in rows and columns, summed over the taps of the depth."""

import numpy as np
import pytest

from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.rewrites.winograd.stages import winograd_program
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, binary, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import TILES, feeds_of, relative_error, tolerance_of
from tests.schedule.offered import algorithms
from tests.schedule.running import runnable_targets


def volume(
    shape: tuple[int, int, int, int], *, taps: int = 3, stride: int = 1, dilation: int = 1
) -> TensorProgram:
    """relu(conv) of (depth, rows, columns, outputs) from 16 channels, taps x 3 x 3."""
    depth, rows, columns, outputs = shape
    slices = (depth - 1) * stride + (taps - 1) * dilation + 1
    x = input_tensor("x", (1, slices, rows + 2, columns + 2, 16), "float32")
    g = input_tensor("g", (taps, 3, 3, 16, outputs), "float32")
    kd, kh, kw, c = Axis("kd", taps), Axis("kh", 3), Axis("kw", 3), Axis("c", 16)

    def element(n, d, h, w, o):
        read = x[n, d * stride + kd * dilation, h + kh, w + kw, c]
        return reduce("sum", [kd, kh, kw, c], read * g[kd, kh, kw, c, o])

    total = compute("total", (1, depth, rows, columns, outputs), element)
    result = compute("relu", total.shape, lambda *at: binary("max", total[at], 0.0))
    data = np.random.default_rng(depth).standard_normal(g.shape).astype("float32")
    return TensorProgram((x,), (result,), ((g, data),))


WINDOWS = {"plain": {}, "stride": {"stride": 2}, "dilation": {"dilation": 2}, "flat": {"taps": 1}}


@pytest.mark.parametrize("window", WINDOWS)
def test_the_depth_may_have_any_window(window):
    program = volume((3, 6, 5, 4), **WINDOWS[window])
    changed = winograd_program(program, 4)
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    (found,) = evaluate(changed.outputs, {**feeds, **changed.constant_arrays()})
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()


@pytest.mark.parametrize("algorithm", [*TILES, WINOGRAD(tile=4, block=4)])
def test_native_code_agrees(algorithm):
    program = volume((4, 8, 8, 20))
    tolerance = tolerance_of(algorithm)
    assert relative_error(program, algorithm, runnable_targets()[0], 2) <= tolerance


def test_blocks_hold_all_slices():
    program = volume((16, 8, 8, 16))
    assert {DIRECT, WINOGRAD(tile=4, block=1), WINOGRAD(tile=4, block=2)} <= set(
        algorithms(program)
    )
    (group,) = plan_program(program, WINOGRAD(tile=4, block=2)).steps
    assert isinstance(group, RowBlocks)
    assert group.blocks == 2
    assert [buffer.shape for buffer in group.buffers] == [
        (36 * 18 * 2 * 16,),
        (36 * (16 * 2 * 16 + 16),),  # planes of 2048 bytes have a gap
    ]
