import numpy as np
import pytest

from relay_tune.codegen.compiler import module_text
from relay_tune.schedule.lane_reduction import LaneReduction
from relay_tune.tensor.expression import Axis
from relay_tune.tensor.loops import Kernel, Statement, Store
from tests.codegen.running import NATIVE, TARGETS, argument, loop, run_native


def reduced(extent: int, operation: str, lanes: int, ways: int) -> tuple[Statement, Kernel]:
    """out[r] = reduce(k) x[r, k] over two rows."""
    row, k = Axis("r", 2), Axis("k", extent)
    x, out = argument("x", (2, extent)), argument("out", 2)
    reduction = LaneReduction(operation, x[row, k], (k,), lanes, ways)
    body = loop(row, reduction.statement({row: row}, lambda total: Store(out, (row,), total)))
    return body, Kernel("kernel", (x, out), (x, out), body)


@pytest.mark.parametrize("operation", ["sum", "max"])
@pytest.mark.parametrize(("lanes", "ways"), [(16, 4), (16, 1), (4, 8), (2, 3)])
@pytest.mark.parametrize("extent", [3, 16, 49, 64, 100, 135])
def test_rows_of_any_length(extent, lanes, ways, operation):
    body, kernel = reduced(extent, operation, lanes, ways)
    x, out = kernel.parameters
    values = np.arange(2 * extent, dtype=np.float32).reshape(2, extent) * 7 % 31 - 40
    expected = values.sum(1) if operation == "sum" else values.max(1)
    for target in TARGETS:
        found = run_native(body, {x: values, out: np.full(2, np.nan, np.float32)}, target)
        np.testing.assert_array_equal(found[out], expected)


@pytest.mark.parametrize("extent", [64, 127, 1000])
def test_the_lanes_of_a_row_are_combined_once(extent):
    _, kernel = reduced(extent, "sum", 16, 8)
    assert module_text([kernel], NATIVE).count("extractelement") == 1


def test_a_missing_number_is_not_lost():
    body, kernel = reduced(100, "max", 16, 4)
    x, out = kernel.parameters
    values = np.zeros((2, 100), np.float32)
    values[0, 3] = values[1, 97] = np.nan
    found = run_native(body, {x: values, out: np.zeros(2, np.float32)})
    assert np.isnan(found[out]).all()
