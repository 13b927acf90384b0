"""Which axes may run along the lanes of vectors."""

import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import core


@pytest.mark.parametrize("is_open", [False, True])
def test_of_open_axes_that_scatter_alike_the_innermost_is_preferred(is_open: bool) -> None:
    """The batch `n` is often 1, the width `w` is not."""
    n, h, w = (symbolic_size(Symbol(name), 64) if is_open else 64 for name in "nhw")
    x = input_tensor("x", (n, w, h, 8), "float32")
    index = input_tensor("index", (2,), "int64")
    result = compute("y", (n, h, w, 2), lambda i, j, k, c: x[i, k, j, index[c]])
    plan = plan_program(TensorProgram((x, index), (result,), ()))
    (space,) = plan.spaces(core(64, 32), 1)
    positions = [
        position for position, _ in dict(zip(space.names, space.values, strict=True))["vector"]
    ]
    assert positions[:2] == ([2, 1] if is_open else [0, 1])
    (choice,) = plan.default_schedule(core(64, 32), 1).choices
    assert choice.vector == (2 if is_open else 0)
