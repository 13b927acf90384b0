"""What weights of a network cost: waiting, late panels, large tiles and long bodies."""

from math import prod

import numpy as np
import pytest

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.weights import (
    late_cycles,
    stride_cycles,
    swept_cycles,
    waiting_cycles,
)
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.streamed import MOST_USES
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER, core, with_rates
from tests.schedule.nest_spaces import only_constant, weighted_product, weighted_space


def waited(rows: int, columns: int, transfer: float = 1000.0):
    """What a product of some rows with 1024 x columns weights waits, in parts of their arrival."""
    depth = 1024
    space = weighted_product(rows, depth, columns)
    choice = TileChoice(1, 16, (rows, 16), (1, 0), (1, 1), (0,), 4, 0)
    constant = only_constant(space)
    found = waiting_cycles(space.analysis, choice, constant, transfer, SERVER, is_fetched=False)
    return found / (4 * depth * columns / SERVER.main.rate)


def test_a_matrix_from_memory_takes_its_transfer_and_nothing_else():
    assert waited(4, 8192) == 0


def test_weights_that_a_cache_could_hold_are_waited_for():
    assert waited(4, 1024) > 0


def test_weights_that_are_used_often_are_waited_for_longer_if_nothing_asks_for_them():
    assert waited(16, 1024) > waited(4, 1024)


def late(rows: int, tile: tuple[int, int], unroll: int = 4, depth: int = 256, columns: int = 256):
    """The share of the time of arithmetic that tiles of a product wait for packed weights."""
    space = weighted_product(rows, depth, columns)
    choice = TileChoice(1, 16, tile, (1, 0), (1, 1), (0,), unroll, 0, prefetch=True)
    constant = only_constant(space)
    found = late_cycles(space.analysis, choice, constant, SERVER)
    return found / (rows * depth * columns / 16 / SERVER.vectors.fused_per_cycle)


def test_panels_of_many_rows_come_in_time():
    assert late(256, (8, 32)) == 0


def test_panels_of_few_rows_are_late():
    assert 0 < late(16, (8, 32)) < late(8, (8, 32))


@pytest.mark.parametrize("tile", [(12, 32), (13, 32)])
def test_a_tile_at_the_edge_has_less_time_for_the_same_part(tile):
    assert late(16, tile) > 2 * late(16, (8, 32))


def test_wide_panels_are_read_from_the_second_cache_by_each_tile():
    assert late(16, (4, 64)) > 2 * late(16, (4, 32))


def test_narrow_last_columns_fetch_a_whole_panel():
    assert late(16, (8, 48), columns=256) > late(16, (8, 48), columns=240)


def test_many_lines_at_once_are_waited_for():
    assert late(16, (8, 32), unroll=8) > late(16, (8, 32), unroll=4) == late(16, (8, 32), unroll=2)


def test_blocks_of_panels_that_leave_their_order_come_unasked():
    x = input_tensor("x", (16, 256), "float32")
    w = input_tensor("w", (4, 256, 256), "float32")
    k = Axis("k", 256)
    y = compute("y", (4, 16, 256), lambda n, i, j: reduce("sum", [k], x[i, k] * w[n, j, k]))
    space = weighted_space(x, w, y)
    constant = only_constant(space)

    def cycles(blocks: tuple[int, int, int]) -> float:
        choice = TileChoice(2, 16, (1, 8, 32), (0, 2, 1), blocks, (0,), 4, 0, prefetch=True)
        return late_cycles(space.analysis, choice, constant, SERVER)

    in_order, turning = cycles((2, 1, 1)), cycles((1, 1, 2))
    assert in_order == cycles((1, 1, 1))
    panel = 4 * 256 * 32 / SERVER.main.rate
    assert (
        turning - in_order == 2 * 4 * panel
    )  # two blocks of columns, in each of them four matrices


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


WEIGHTS = 1 << 18

LONGEST = SERVER.coefficients.longest_stride


def test_only_long_strides_cost():
    assert stride_cycles(WEIGHTS, LONGEST, 1, SERVER) == 0
    assert stride_cycles(WEIGHTS, 2 * LONGEST, 1, SERVER) > 0


def test_long_strides_over_weights_that_are_used_often_cost_nothing():
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
