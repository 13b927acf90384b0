"""Rows of a few vectors that a tile multiplies are asked for ahead, in the order of addresses."""

import numpy as np
import pytest

from relay_tune.ir.dim import Symbol
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops import Prefetch
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.touched import statements
from tests.codegen.running import NATIVE
from tests.schedule.running import run_schedule


def _scores(keys: int, features: int) -> Plan:
    """s[t] = sum(f) q[f] * keys[t, f]."""
    query = input_tensor("q", (features,), "float32")
    rows, f = input_tensor("keys", (keys, features), "float32"), Axis("f", features)
    total = compute("s", (keys,), lambda t: reduce("sum", [f], query[f] * rows[t, f]))
    return plan_program(TensorProgram((query, rows), (total,), ()))


def _in_rows_of(tile: int) -> Schedule:
    return Schedule((TileChoice(-2, 16, (tile,), (0,), (1,), (0,), 1, 0),))


def _fetches(plan: Plan, tile: int) -> list[Prefetch]:
    (kernel,) = apply_schedule(plan, _in_rows_of(tile)).kernels
    return [each for each in statements(kernel.body) if isinstance(each, Prefetch)]


@pytest.mark.parametrize(
    ("keys", "features", "lines"),
    [(1024, 64, 64), (1000, 64, 64), (1024, 256, 0), (1024, 72, 0), (256, 64, 0)],
)
def test_what_is_asked_for(keys: int, features: int, lines: int) -> None:
    found = _fetches(_scores(keys, features), 16)
    assert len(found) == lines
    assert all(each.buffer.name == "keys" and each.near for each in found)


def test_any_number_of_rows() -> None:
    assert len(_fetches(_scores(symbolic_size(Symbol("n"), 1024), 64), 16)) == 64


def test_sums_are_the_same() -> None:
    plan = _scores(1003, 64)
    query, rows = plan.program.inputs
    values = np.random.default_rng(0).integers(-9, 9, (1003, 64)).astype(np.float32)
    data = {query: np.arange(64, dtype=np.float32), rows: values}
    (found,) = run_schedule(plan, _in_rows_of(16), NATIVE, data)
    np.testing.assert_array_equal(found, values @ data[query])
