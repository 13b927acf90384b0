"""What the estimate charges for weights that come from memory."""

import numpy as np

from relay_tune.op.lower import TensorProgram
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.estimates.waiting_weights import waiting_cycles
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER


def waited(rows: int, columns: int, transfer: float = 1000.0):
    """What a product of some rows with 1024 x columns weights waits, in parts of their arrival."""
    depth = 1024
    x = input_tensor("x", (rows, depth), "float32")
    w = input_tensor("w", (columns, depth), "float32")
    k = Axis("k", depth)
    y = compute("y", (rows, columns), lambda i, j: reduce("sum", [k], x[i, k] * w[j, k]))
    weights = np.broadcast_to(np.float32(0), (columns, depth))
    space = plan_program(TensorProgram((x,), (y,), ((w, weights),))).spaces(SERVER, 1)[-1]
    choice = TileChoice(1, 16, (rows, 16), (1, 0), (1, 1), (0,), 4, 0)
    (constant,) = (a for a in space.analysis.body_accesses if a.constant)
    found = waiting_cycles(space.analysis, choice, constant, transfer, SERVER, is_fetched=False)
    return found / (4 * depth * columns / SERVER.cache_bandwidth[-1])


def test_a_matrix_from_memory_takes_its_transfer_and_nothing_else():
    assert waited(4, 8192) == 0


def test_weights_that_a_cache_could_hold_are_waited_for():
    assert waited(4, 1024) > 0


def test_weights_that_are_used_often_are_waited_for_longer_if_nothing_asks_for_them():
    assert waited(16, 1024) > waited(4, 1024)
