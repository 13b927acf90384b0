"""Constants of a narrow type are asked for ahead where one row streams through them."""

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import Target, parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.loops.prefetch.limits import STREAM_COLUMNS
from relay_tune.schedule.loops.prefetch.streams import comes_fast
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor

TARGET = parse_target("x86_64-linux-gnu:haswell")
WIDE_TARGET = parse_target("x86_64-linux-gnu:icelake-server")


def _product(rows: int, steps: int, columns: int, dtype: str) -> TensorProgram:
    x = input_tensor("x", (rows, steps), "float32")
    w = input_tensor("w", (columns, steps), dtype)
    k = Axis("k", steps)

    def element(i: Scalar, o: Scalar) -> Scalar:
        return reduce("sum", [k], x[i, k] * cast(w[o, k], "float32"))

    data = np.ones((columns, steps), dtype)
    return TensorProgram((x,), (compute("y", (rows, columns), element),), ((w, data),))


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "is_asked_for"),
    [
        (1, 1024, "float16", True),
        (1, 1024, "int8", True),
        (1, 64, "float16", False),
        (1, 1024, "float32", False),
        (6, 1024, "float16", False),
    ],
)
def test_streams(rows: int, columns: int, dtype: str, is_asked_for: bool) -> None:
    assert _asks(_product(rows, 256, columns, dtype), TARGET) == is_asked_for


def _asks(program: TensorProgram, target: Target) -> bool:
    plan = plan_program(program)
    schedule = plan.default_schedule(machine_of(target), 1)
    text = module_text(apply_schedule(plan, schedule).kernels, target)
    return "llvm.prefetch" in text


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_wide_tiles_come_by_themselves(dtype: str) -> None:
    assert not _asks(_product(1, 256, 1024, dtype), WIDE_TARGET)


@pytest.mark.parametrize(
    ("dtype", "lanes", "columns", "is_fast"),
    [
        ("int8", 16, STREAM_COLUMNS, False),
        ("int8", 16, STREAM_COLUMNS + 16, True),
        ("bfloat16", 8, 48, False),
        ("bfloat16", 16, 48, True),
        ("int32", 16, 48, False),
        ("int32", 16, 128, False),
    ],
)
def test_long_loads_of_single_numbers_come_by_themselves(
    dtype: str, lanes: int, columns: int, is_fast: bool
) -> None:
    schedule = plan_program(_product(1, 256, 1024, "int8")).default_schedule(machine_of(TARGET), 1)
    (choice,) = schedule.choices
    tile = tuple(columns if n == choice.vector else 1 for n in range(len(choice.tile)))
    weights = input_tensor("w", (16, 24, columns), dtype)
    assert comes_fast(weights, replace(choice, tile=tile, lanes=lanes)) == is_fast
