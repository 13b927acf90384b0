"""How many instructions expressions take."""

import pytest

from relay_tune.schedule.nests.operation_count import (
    operation_count,
    places_share,
    written_out_axes,
)
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.tensor.expression import Axis, Binary, binary, select, unary
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program
from tests.schedule.nest_spaces import only_nest


@pytest.mark.parametrize("size", [7, 14, 27, 31])
def test_places_within_a_tile_are_written_out_before_tiles_at_the_border(size):
    plan = plan_program(convolution_program((1, size, size, 32, 32)), WINOGRAD(tile=4))
    (data,) = (nest for nest in plan.nests if nest.name == "winograd_data" and len(nest.axes) > 2)
    assert [axis.extent for axis in written_out_axes(data)] == [6, 6]
    assert written_out_axes(data) == set(data.axes[:2])


def test_always_the_same_axes_are_written_out():
    """The positions of a tile; what rows and columns of tiles read at the end needs no test."""
    found = set()
    for _ in range(12):  # nodes at other addresses
        plan = plan_program(convolution_program((1, 7, 7, 32, 32)), WINOGRAD(tile=2))
        (data,) = (n for n in plan.nests if n.name == "winograd_data" and len(n.axes) > 2)
        found.add(tuple(axis in written_out_axes(data) for axis in data.axes))
    assert found == {(True, True, False, False, False)}


@pytest.mark.parametrize(
    "dtype, operation, count",
    [("float32", "mul", 1), ("int32", "mul", 2), ("int32", "dot_u8s8", 1)],
)
def test_products_of_integers_are_added_by_an_instruction_of_their_own(dtype, operation, count):
    x = input_tensor("x", (4,), dtype)[Axis("i", 4)]
    assert operation_count(Binary(operation, x, x, dtype=dtype), reduced=True) == count


@pytest.mark.parametrize("operation, count", [("isnan", 1), ("isinf", 2), ("sign", 5)])
def test_what_asks_for_bits_of_a_float_is_no_call_of_a_function(operation, count):
    x = input_tensor("x", (4,), "float32")[Axis("i", 4)]
    assert operation_count(unary(operation, x), reduced=False) == count
    assert operation_count(unary("tanh", x), reduced=False) > 2 * count


def test_elements_decide_for_no_axis():
    x = input_tensor("x", (3, 64), "float32")
    clipped = compute("y", (64, 3), lambda i, j: select(binary("lt", x[j, i], 1.0), x[j, i], 1.0))
    assert written_out_axes(only_nest(clipped)) == frozenset()


@pytest.mark.parametrize(
    ("places", "much", "shared"),
    [(2, True, True), (2, False, False), (9, True, False)],
    ids=["a number and its rest", "nothing in common", "a long axis"],
)
def test_places_that_compute_much_of_the_same_are_side_by_side(places, much, shared):
    x = input_tensor("x", (64, 64), "float32")

    def part(number, i, j):
        first = unary("exp", x[i, j])
        rest = first - x[i, j] if much else x[i, j] * 2.0
        return select(binary("lt", number, 1), first, rest)

    stage = compute("parts", (places, 64, 64), part)
    assert places_share(stage.axes, stage.body) is shared
    if shared:
        nest = only_nest(stage)
        assert [axis.extent for axis in written_out_axes(nest)] == [places]
