"""Which constants are packed: those along the lanes, and those that are spread over them."""

import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.running import run_schedule, runnable_targets

CHANNELS, TAPS, PLACES = 7, 3, 40


def line_convolution() -> tuple[Plan, dict, np.ndarray]:
    """y[o, x] = sum(k) d[x + k] w[o, k]; its inputs and its result."""
    d = input_tensor("d", (PLACES + TAPS - 1,), "float32")
    w = input_tensor("w", (CHANNELS, TAPS), "float32")
    k = Axis("k", TAPS)
    result = compute("y", (CHANNELS, PLACES), lambda o, x: reduce("sum", [k], d[x + k] * w[o, k]))
    rng = np.random.default_rng(0)
    feeds = {each: rng.standard_normal(each.shape, np.float32) for each in (d, w)}
    (expected,) = evaluate((result,), feeds)
    return plan_program(TensorProgram((d,), (result,), ((w, feeds[w]),))), feeds, expected


@pytest.mark.parametrize("target", runnable_targets(), ids=str)
@pytest.mark.parametrize(
    ("vector", "packed"),
    [
        (1, [(3, TAPS, 3)]),  # lanes along the positions: the channels of a tile beside each other
        (0, [(3, TAPS, 3)]),  # lanes along the channels
        (-1, []),  # no lanes
    ],
)
def test_channels_of_a_tile_lie_beside_each_other(vector, packed, target):
    plan, feeds, expected = line_convolution()
    lanes = 16 if vector == 1 else 4
    choice = TileChoice(vector, lanes, (3, 16), (0, 1), (1, 1), (0,), unroll=TAPS, parallel=0)
    schedule = Schedule((choice,))
    scheduled = apply_schedule(plan, schedule)
    assert [each.recipe.shape for each in scheduled.packed] == packed
    (found,) = run_schedule(plan, schedule, target, feeds)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
