"""What of the weights of the next tiles the estimate takes to come too late."""

import pytest

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.late_panels import late_cycles
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.nest_spaces import only_constant, weighted_product, weighted_space


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
