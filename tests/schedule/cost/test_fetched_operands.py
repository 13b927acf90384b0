"""Which operands the estimate takes to be fetched ahead, and how many streams it wants."""

from dataclasses import replace

import pytest

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.cost.fetched_operands import fetched_ahead
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER
from tests.schedule.nest_spaces import weighted_product, weighted_space


@pytest.mark.parametrize(
    ("rows", "tile", "order", "is_fetched"),
    [
        (16, (16, 16), (0, 1), True),  # each panel is read by one tile, sixteen times
        (8, (8, 16), (0, 1), False),  # too seldom: such weights are swept
        (32, (16, 16), (0, 1), False),  # the second row of tiles finds them near
        (32, (16, 16), (1, 0), True),  # two tiles in a row share each panel
    ],
)
def test_packed_weights_are_fetched_where_it_pays(rows, tile, order, is_fetched):
    space = weighted_product(rows, 512, 512)
    choice = TileChoice(1, 16, tile, order, (1, 1), (0,), 8, 0, prefetch=True)
    assert bool(fetched_ahead(space.analysis, choice, SERVER)) is is_fetched


def test_panels_that_leave_no_room_for_the_next_one_are_not_fetched():
    space = weighted_product(16, 8192, 512)
    choice = TileChoice(1, 16, (16, 16), (0, 1), (1, 1), (0,), 8, 0, prefetch=True)
    assert not fetched_ahead(space.analysis, choice, SERVER)


def cycles_by_vector(columns: int):
    """The estimates of a matrix-vector product, in packed columns and with rows side by side."""
    space = weighted_product(1, 4096, columns)
    packed = TileChoice(0, 16, (64,), (0,), (1,), (0,), 1, 0)
    rows = replace(packed, vector=-2, tile=(4,))
    return [space.estimate(choice).cycles for choice in (packed, rows)]


def test_a_matrix_from_memory_is_read_in_several_rows():
    packed, rows = cycles_by_vector(8192)
    assert rows < packed


def test_weights_that_nothing_asks_for_are_waited_for():
    space = weighted_product(16, 512, 512)
    choice = TileChoice(1, 16, (16, 16), (0, 1), (1, 1), (0,), 8, 0)
    fetched = replace(choice, prefetch=True)
    weights = 4 * 512 * 512 / SERVER.main.rate
    saved = space.estimate(choice).cycles - space.estimate(fetched).cycles
    assert SERVER.coefficients.awaited_weights * weights < saved < weights


def test_steps_of_two_axes_written_out_together_fetch_nothing():
    x = input_tensor("x", (16, 2, 256), "float32")
    w = input_tensor("w", (256, 256, 2), "float32")
    k, tap = Axis("k", 256), Axis("tap", 2)
    y = compute("y", (16, 256), lambda i, j: reduce("sum", [k, tap], x[i, tap, k] * w[j, k, tap]))
    space = weighted_space(x, w, y)
    choice = TileChoice(1, 16, (16, 16), (1, 0), (1, 1), (1, 0), 2, 0, prefetch=True)
    assert fetched_ahead(space.analysis, choice, SERVER)
    assert not fetched_ahead(space.analysis, replace(choice, unroll=4), SERVER)
