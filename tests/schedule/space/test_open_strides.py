"""Tiles over axes whose strides are open."""

import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.space.open_strides import MOST_ADDRESSES
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import core


@pytest.mark.parametrize("is_open", [False, True])
def test_a_tile_has_few_rows_whose_distance_is_open(is_open: bool) -> None:
    """The rows of `x` lie as many elements apart as it has columns."""
    columns = symbolic_size(Symbol("n"), 64) if is_open else 64
    x, w = input_tensor("x", (64, columns), "float32"), input_tensor("w", (columns, 32), "float32")
    k = Axis("k", columns)
    result = compute("p", (64, 32), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j]))
    plan = plan_program(TensorProgram((x, w), (result,), ()))
    (space,) = plan.spaces(core(64, 32), 1)
    most = max(dict(zip(space.names, space.values, strict=True))["tile0"])
    assert (most == MOST_ADDRESSES) == is_open
    (choice,) = plan.default_schedule(core(64, 32), 1).choices
    assert (choice.tile[0] > MOST_ADDRESSES) != is_open
