import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input, compute, input_tensor
from tests.codegen.running import NATIVE
from tests.schedule.running import run_schedule, runnable_targets


def row_program(rows: int, extent: int, operation: str) -> tuple[Plan, Input]:
    """y[r] = 2 * reduce(k) x[r, k] + 1."""
    x, k = input_tensor("x", (rows, extent), "float32"), Axis("k", extent)
    reduced = compute("m", (rows,), lambda r: reduce(operation, [k], x[r, k]))
    result = compute("y", (rows,), lambda r: reduced[r] * 2.0 + 1.0)
    return plan_program(TensorProgram((x,), (result,), ())), x


def along_lanes(lanes: int, ways: int, tile: int) -> Schedule:
    choice = TileChoice(
        vector=-2,
        lanes=lanes,
        tile=(tile,),
        order=(0,),
        blocks=(1,),
        reduction_order=(0,),
        unroll=ways,
        parallel=0,
    )
    return Schedule((choice,))


@pytest.mark.parametrize("operation", ["sum", "max"])
@pytest.mark.parametrize(
    ("extent", "lanes", "ways", "tile"),
    [(5, 16, 3, 2), (64, 16, 1, 8), (135, 16, 3, 5), (135, 4, 8, 17), (64, 2, 1, 1), (49, 8, 2, 3)],
)
def test_rows_of_any_length_many_at_a_time(extent, tile, lanes, ways, operation):
    plan, x = row_program(19, extent, operation)
    schedule = along_lanes(lanes, ways, tile)
    assert misfit(schedule.choices[0], plan.nests[0]) is None
    values = np.arange(19 * extent, dtype=np.float32).reshape(19, extent) * 7 % 31 - 40
    expected = (values.sum(1) if operation == "sum" else values.max(1)) * 2 + 1
    for target in runnable_targets():
        (found,) = run_schedule(plan, schedule, target, {x: values})
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("extent", [64, 127, 1000])
def test_the_lanes_of_a_row_are_combined_once(extent):
    plan, _ = row_program(8, extent, "sum")
    kernels = apply_schedule(plan, along_lanes(16, 8, 1)).kernels
    assert module_text(kernels, NATIVE).count("extractelement") == 1


def test_rows_are_combined_with_fewer_shuffles():
    plan, _ = row_program(8, 64, "sum")

    def shuffles(tile: int) -> int:
        kernels = apply_schedule(plan, along_lanes(16, 1, tile)).kernels
        return module_text(kernels, NATIVE).count("shufflevector")

    assert shuffles(8) < 2 * 8 + 3 < 8 * shuffles(1)


@pytest.mark.parametrize("tile", [1, 8])
def test_a_missing_number_is_not_lost(tile):
    plan, x = row_program(8, 100, "max")
    values = np.zeros((8, 100), np.float32)
    values[0, 3] = values[7, 97] = np.nan
    (found,) = run_schedule(plan, along_lanes(16, 4, tile), NATIVE, {x: values})
    np.testing.assert_array_equal(np.isnan(found), [True, *[False] * 6, True])


@pytest.mark.parametrize("tile", [1, 8])
def test_fmax_passes_a_missing_number_over(tile):
    plan, x = row_program(8, 100, "fmax")
    values = np.arange(800, dtype=np.float32).reshape(8, 100)
    values[0, 99] = values[7, 0] = np.nan
    (found,) = run_schedule(plan, along_lanes(16, 4, tile), NATIVE, {x: values})
    np.testing.assert_array_equal(found, 2 * np.fmax.reduce(values, 1) + 1)
