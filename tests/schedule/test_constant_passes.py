"""How often the tiles of a schedule read constants."""

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.schedule.constant_passes import reads_constants_once
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import core


def product(*, constant: bool) -> Plan:
    a, b = input_tensor("a", (8, 64), "float32"), input_tensor("b", (96, 64), "float32")
    k = Axis("k", 64)
    result = compute("p", (8, 96), lambda i, j: reduce("sum", [k], a[i, k] * b[j, k]))
    known = ((b, np.zeros((96, 64), np.float32)),) if constant else ()
    return plan_program(TensorProgram((a,) if constant else (a, b), (result,), known))


@pytest.mark.parametrize(("rows", "once"), [(8, True), (4, False), (3, False)])
def test_a_tile_with_all_rows_reads_weights_once(rows: int, once: bool) -> None:
    plan = product(constant=True)
    (choice,) = plan.default_schedule(core(64, 32), 1).choices
    tiled = Schedule((replace(choice, vector=1, lanes=16, tile=(rows, 48)),))
    assert reads_constants_once(plan, tiled) == once


def test_what_is_no_constant_does_not_count() -> None:
    plan = product(constant=False)
    (choice,) = plan.default_schedule(core(64, 32), 1).choices[-1:]
    others = plan.default_schedule(core(64, 32), 1).choices[:-1]
    tiled = Schedule((*others, replace(choice, vector=1, lanes=16, tile=(1, 16))))
    assert reads_constants_once(plan, tiled)
