"""Grouped convolutions: which vectors are loaded, and which tile is the default."""

from math import prod

import numpy as np
import pytest

from relay_tune.schedule.cost.access import Access
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Axis, Scalar, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER

COLUMN, LANE = Axis("w", 8), Axis("o", 64)
TAP, CHANNEL = Axis("kw", 3), Axis("c", 4)
GROUPED = Access(Affine({COLUMN: 64, TAP: 64, CHANNEL: 1, LANE: 1}), 4, False, 640, repeats=4)


def grouped(channels: int, size: int, group: int, stride: int) -> TensorProgram:
    """A convolution of 3 x 3 taps whose outputs read the channels of their own group."""
    padded = (size - 1) * stride + 3
    x = input_tensor("x", (padded, padded, channels), "float32")
    g = input_tensor("g", (3, 3, group, channels), "float32")
    kh, kw, c = Axis("kh", 3), Axis("kw", 3), Axis("c", group)

    def element(h: Scalar, w: Scalar, o: Scalar) -> Scalar:
        value = x[h * stride + kh, w * stride + kw, o // group * group + c]
        return reduce("sum", [c, kh, kw], value * g[kh, kw, c, o])

    y = compute("convolution", (size, size, channels), element)
    taps = np.ones(g.shape, np.float32)
    return TensorProgram((x,), (y,), ((g, taps),))


def test_channels_of_a_group_are_picked_out_of_one_vector():
    assert GROUPED.picks(CHANNEL)
    assert not GROUPED.picks(TAP)
    whole = GROUPED.whole_vectors((TAP, CHANNEL))
    assert whole.terms == {COLUMN: 64, TAP: 64, LANE: 1}


def test_vectors_of_steps_that_are_not_written_out_begin_anywhere():
    written_out = {CHANNEL: 4, TAP: 1}
    assert CHANNEL not in GROUPED.whole_vectors((TAP, CHANNEL), written_out).terms
    assert CHANNEL in GROUPED.whole_vectors((TAP, CHANNEL), {CHANNEL: 2, TAP: 1}).terms


def test_vectors_wait_for_the_steps_inside_of_the_channels():
    assert GROUPED.steps_within({TAP: 3, CHANNEL: 4}) == {TAP: 3}
    assert GROUPED.steps_within({CHANNEL: 4, TAP: 3}) == {}
    assert GROUPED.steps_within({TAP: 3, CHANNEL: 1}) is None


@pytest.mark.parametrize(
    "shape", [(128, 56, 4, 1), (256, 28, 8, 2), (256, 28, 8, 1), (96, 28, 2, 2)]
)
def test_the_default_shares_what_it_shuffles_and_keeps_it_in_registers(shape):
    plan = plan_program(grouped(*shape))
    choice = plan.default_under_algorithm(SERVER, 1)[1].choices[0]
    assert choice.unroll >= 3 * shape[2]
    assert prod(choice.tile) // choice.lanes <= 10
