"""What weights of a network cost: waiting, late panels, large tiles and long bodies."""

from math import prod

import numpy as np
import pytest

from relay_tune.machine.machine import Machine
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.operand import Operand, operands
from relay_tune.schedule.cost.terms import OF_WEIGHTS
from relay_tune.schedule.cost.tile import tile_of
from relay_tune.schedule.cost.traffic import traffic_of
from relay_tune.schedule.cost.weights import (
    arrival,
    awaited_arrival,
    late_cycles,
    swept_cycles,
    unasked_transfer,
    unfollowed_cycles,
)
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.space.space import NestSpace
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.streamed import MOST_USES
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER, core, with_rates
from tests.schedule.nest_spaces import weighted_product, weighted_space


def weights_of(space: NestSpace, choice: TileChoice, machine: Machine = SERVER) -> Operand:
    """The one constant that a nest's reduction reads."""
    found = operands(traffic_of(tile_of(space.analysis, choice, machine), choice))
    return next(operand for operand in found if operand.access.constant)


UNASKED = [t for t in OF_WEIGHTS if t.amount in (unasked_transfer, arrival, awaited_arrival)]


def waited(rows: int, columns: int):
    """What a product of some rows with 1024 x columns weights waits, in parts of their arrival."""
    depth = 1024
    space = weighted_product(rows, depth, columns)
    choice = TileChoice(1, 16, (rows, 16), (1, 0), (1, 1), (0,), 4, 0)
    operand = weights_of(space, choice)
    found = sum(term.cycles(operand) for term in UNASKED)
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
    found = late_cycles(weights_of(space, choice))
    return found / (rows * depth * columns / 16 / SERVER.vectors.fused_per_cycle)


def test_panels_of_many_rows_come_in_time():
    assert late(256, (8, 32)) == 0


def test_panels_of_few_rows_are_late():
    assert 0 < late(16, (8, 32)) < late(12, (12, 32))


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

    def cycles(blocks: tuple[int, int, int]) -> float:
        choice = TileChoice(2, 16, (1, 8, 32), (0, 2, 1), blocks, (0,), 4, 0, prefetch=True)
        return late_cycles(weights_of(space, choice))

    in_order, turning = cycles((2, 1, 1)), cycles((1, 1, 2))
    assert in_order == cycles((1, 1, 1))
    panel = 4 * 256 * 32 / SERVER.main.rate
    assert (
        turning - in_order == 2 * 4 * panel
    )  # two blocks of columns, in each of them four matrices


FAR = with_rates(core(64, 32), (96.0, 48.0, 8.0, 4.0))
"""A server whose third cache is slow."""

MANY = 2 * int(SERVER.coefficients.swept_caches * SERVER.memories[1].bytes) // 4
"""Weights that no cache holds, however they are walked."""


def by_vector(space: NestSpace, *, tile: int, unroll: int = 1, rows: int = 1) -> Operand:
    """The weights of a product with one row or a few, in tiles of so many columns."""
    return weights_of(space, TileChoice(1, 16, (rows, tile), (0, 1), (1, 1), (0,), unroll, 0))


def test_larger_tiles_cost_more():
    space = weighted_product(2, 1024, MANY // 1024)
    costs = [swept_cycles(by_vector(space, tile=tile)) for tile in (64, 256)]
    assert 0 < costs[0] < costs[1]


def test_weights_that_fit_or_are_used_often_cost_nothing():
    assert swept_cycles(by_vector(weighted_product(2, 64, 64), tile=64)) == 0
    often = weighted_product(2 * MOST_USES, 1024, MANY // 1024)
    assert swept_cycles(by_vector(often, tile=64, rows=2)) == 0


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


LONGEST = SERVER.coefficients.longest_stride


def test_only_long_strides_cost():
    space = weighted_product(2, 64, 1024)
    assert unfollowed_cycles(by_vector(space, tile=LONGEST // 4)) == 0
    assert unfollowed_cycles(by_vector(space, tile=LONGEST // 4, unroll=2)) > 0


def test_long_strides_over_weights_that_are_used_often_cost_nothing():
    space = weighted_product(2 * MOST_USES, 64, 1024)
    assert unfollowed_cycles(by_vector(space, tile=LONGEST // 4, unroll=2, rows=2)) == 0


@pytest.mark.parametrize("size", [256, 512])
def test_the_default_body_of_a_matrix_and_a_vector_reads_little(size: int):
    x = input_tensor("x", (1, size), "float32")
    w = input_tensor("w", (size, size), "float32")
    k = Axis("k", size)
    y = compute("y", (1, size), lambda i, j: reduce("sum", [k], x[i, k] * w[j, k]))
    plan = plan_program(TensorProgram((x,), (y,), ((w, np.zeros((size, size), "f")),)))
    choice = plan.default_schedule(SERVER, 1).choices[-1]
    assert 4 * prod(choice.tile) * choice.unroll <= LONGEST
