"""First layers: taps whose data are spread over the lanes are not written out by default."""

import pytest

from relay_tune.schedule.cost.estimate import estimate
from relay_tune.schedule.plan import plan_program
from tests.schedule.convolutions import convolution_program
from tests.schedule.machines import SERVER


@pytest.mark.parametrize("shape", [(1, 64, 64, 3, 64), (1, 112, 112, 3, 32)])
def test_the_default_goes_step_by_step(shape):
    plan = plan_program(convolution_program(shape))
    assert plan.default_under_algorithm(SERVER, 1)[1].choices[0].unroll == 1


def test_channels_are_written_out():
    plan = plan_program(convolution_program((1, 14, 14, 256, 64)))
    (space,) = plan.spaces(SERVER, 1)
    choice = plan.default_under_algorithm(SERVER, 1)[1].choices[0]
    assert choice.unroll > 1
    assert estimate(space.analysis, choice, SERVER).compute_cycles > 0
