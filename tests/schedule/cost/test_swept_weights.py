"""What large tiles cost where weights are walked back and forth."""

from math import prod

import numpy as np

from relay_tune.schedule.cost.swept_weights import swept_cycles
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.streamed import MOST_USES
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER, core, with_rates

FAR = with_rates(core(64, 32), (96.0, 48.0, 8.0, 4.0))
"""A server whose third cache is slow."""

MANY = 2 * SERVER.coefficients.swept_caches * SERVER.memories[1].bytes


def test_larger_tiles_cost_more():
    costs = [swept_cycles(MANY, size, 1, SERVER) for size in (1 << 18, 1 << 20)]
    assert 0 < costs[0] < costs[1]


def test_weights_that_fit_or_are_used_often_cost_nothing():
    assert swept_cycles(SERVER.memories[1].bytes, 1 << 18, 1, SERVER) == 0
    assert swept_cycles(MANY, 1 << 18, 2 * MOST_USES, SERVER) == 0


def product_plan(rows: int, depth: int, columns: int):
    x = input_tensor("x", (rows, depth), "float32")
    w = input_tensor("w", (columns, depth), "float32")
    k = Axis("k", depth)
    y = compute("y", (rows, columns), lambda i, j: reduce("sum", [k], x[i, k] * w[j, k]))
    return plan_program(TensorProgram((x,), (y,), ((w, np.zeros((columns, depth), "f")),)))


def tile_bytes(rows: int, depth: int, columns: int) -> int:
    choice = product_plan(rows, depth, columns).default_schedule(FAR, 1).choices[-1]
    return 4 * depth * prod(choice.tile[-1:])


def test_the_default_tile_of_a_large_matrix_and_a_vector_is_a_small_part_of_the_second_cache():
    assert tile_bytes(1, 4096, 1024) <= SERVER.memories[1].bytes / 2
