"""The order within a register tile keeps as few operands in registers as it can."""

import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.write_order import write_order
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, binary, reduce
from relay_tune.tensor.loops_text import kernel_text
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


@pytest.mark.parametrize(
    ("tile", "step"),
    [
        ((3, 38), ["k_u", "j_v", "i_i", "j_l", "i_i", "j_l"]),  # 3 elements of x stay
        ((6, 16), ["k_u", "i_i", "j_v", "j_l"]),  # 2 vectors of w stay
    ],
)
def test_vectors_take_their_turn_in_the_steps_of_a_sum(tile, step):
    x, w = input_tensor("x", (6, 32), "float32"), input_tensor("w", (32, 76), "float32")
    k = Axis("k", 32)
    y = compute("y", (6, 76), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j]))
    plan = plan_program(program_of([y], {}))
    schedule = Schedule((TileChoice(1, 8, tile, (0, 1), (1, 1), (0,), 4, 0),))
    (kernel,) = apply_schedule(plan, schedule).kernels
    text = kernel_text(kernel)
    first = text[text.index("unrolled k_u") : text.index("y[")]
    loops = [line.split()[1] for line in first.splitlines() if " in 0 .. " in line]
    assert loops[: len(step)] == step
