from collections.abc import Callable

import pytest

from relay_tune.building.build import build
from relay_tune.building.memory_limit import physical_memory
from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType

Op = Callable[..., Call]


def outer_sum(op: Op, size: int) -> tuple[Var, Expr]:
    x = Var("x", TensorType((size,), "float32"))
    column = op("reshape", x, newshape=(size, 1))
    return x, op("add", column, op("reshape", x, newshape=(1, size)))


def test_this_machine_has_memory() -> None:
    available = physical_memory()
    assert available is None or available > 1 << 26


def test_an_output_that_no_machine_can_hold_is_refused(op: Op) -> None:
    x, body = outer_sum(op, 10**8)
    with pytest.raises(
        BuildError, match=r"needs 40 PB of memory; this machine has .* GB"
    ) as caught:
        build(Module.from_function(Function((x,), body)), threads=1)
    assert "Tensor[(100000000, 100000000), float32]: 40 PB" in caught.value.notes[0]


def test_an_intermediate_tensor_counts(op: Op) -> None:
    x, body = outer_sum(op, 10**8)
    total = op("sum", op("nn.softmax", body))
    with pytest.raises(BuildError, match="of memory"):
        build(Module.from_function(Function((x,), total)), threads=1)


def test_what_is_never_stored_does_not_count(op: Op) -> None:
    x, body = outer_sum(op, 10**7)
    assert build(Module.from_function(Function((x,), op("sum", body))), threads=1).outputs
