"""What long bodies of loops cost that stream through packed weights."""

from math import prod

import numpy as np
import pytest

from relay_tune.schedule.cost.stream_strides import stride_cycles
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.streamed import MOST_USES
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER

WEIGHTS = 1 << 18

LONGEST = SERVER.coefficients.longest_stride


def test_only_long_strides_cost():
    assert stride_cycles(WEIGHTS, LONGEST, 1, SERVER) == 0
    assert stride_cycles(WEIGHTS, 2 * LONGEST, 1, SERVER) > 0


def test_weights_that_are_used_often_cost_nothing():
    assert stride_cycles(WEIGHTS, 2 * LONGEST, 2 * MOST_USES, SERVER) == 0


@pytest.mark.parametrize("size", [256, 512])
def test_the_default_body_of_a_matrix_and_a_vector_reads_little(size: int):
    x = input_tensor("x", (1, size), "float32")
    w = input_tensor("w", (size, size), "float32")
    k = Axis("k", size)
    y = compute("y", (1, size), lambda i, j: reduce("sum", [k], x[i, k] * w[j, k]))
    plan = plan_program(TensorProgram((x,), (y,), ((w, np.zeros((size, size), "f")),)))
    choice = plan.default_schedule(SERVER, 1).choices[-1]
    assert 4 * prod(choice.tile) * choice.unroll <= LONGEST
