"""The order within a register tile keeps as few operands in registers as it can."""

import pytest

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.write_order import write_order
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, binary, reduce
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.running import program_of


def heads_product():
    """y[h, s, d] = sum(k) x[s, k] * w[h, d, k]: the axes of w stand on both sides of that of x."""
    x = input_tensor("x", (26, 32), "float32")
    w = input_tensor("w", (4, 24, 32), "float32")
    k = Axis("k", 32)
    y = compute("y", (4, 26, 24), lambda h, s, d: reduce("sum", [k], x[s, k] * w[h, d, k]))
    (nest,) = plan_program(program_of([y], {})).nests
    return nest


def choice(tile: tuple[int, ...], vector: int, lanes: int) -> TileChoice:
    return TileChoice(vector, lanes, tile, (0, 1, 2), (1, 1, 1), (0,), 1, 0)


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        ((2, 13, 16), (1, 0, 2)),  # two vectors of w stay, 13 elements of x pass
        ((4, 2, 16), (0, 2, 1)),  # two elements of x stay, four vectors of w pass
    ],
)
def test_the_smallest_operand_varies_fastest(tile, expected):
    nest = heads_product()
    order = write_order(nest, choice(tile, 2, 16))
    assert tuple(nest.axes.index(axis) for axis in order) == expected


def test_one_operand_is_written_as_stored():
    x = input_tensor("x", (6, 8), "float32")
    k = Axis("k", 8)
    y = compute("y", (6,), lambda i: reduce("sum", [k], binary("max", x[i, k], 0.0)))
    (nest,) = plan_program(program_of([y], {})).nests
    assert write_order(nest, TileChoice(-1, 1, (2,), (0,), (1,), (0,), 1, 0)) == nest.axes
