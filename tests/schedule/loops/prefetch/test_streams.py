"""Constants of a narrow type are asked for ahead where one row streams through them."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import Target, parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.quantized_rows.record import DIGITS
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.products import stored

TARGET = parse_target("x86_64-linux-gnu:haswell")
SERVER = parse_target("x86_64-linux-gnu:cooperlake")
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
    return "llvm.prefetch" in _text(program, target)


def _text(program: TensorProgram, target: Target) -> str:
    plan = plan_program(program)
    schedule = plan.default_schedule(machine_of(target), 1)
    return module_text(apply_schedule(plan, schedule).kernels, target)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_wide_tiles_and_long_loads_ask_as_well(dtype: str) -> None:
    assert _asks(_product(1, 256, 1024, dtype), WIDE_TARGET)


def test_what_is_asked_for_goes_into_the_second_cache() -> None:
    asked = re.findall(
        r"call void @llvm\.prefetch\S+ .*", _text(_product(1, 256, 1024, "int8"), TARGET)
    )
    assert asked and all(each.endswith("i32 0, i32 2, i32 1)") for each in asked)


@pytest.mark.parametrize("columns", [32, 48, 64])
@pytest.mark.parametrize("unroll", [4, 8])
def test_lines_are_asked_for_one_by_one_between_sums_beside_each_other(
    columns: int, unroll: int
) -> None:
    """Each line of a step once, and dot products between any two of them."""
    machine, target = machine_of(SERVER), SERVER
    plan = plan_program(stored(1, 768, 1536, bits=4))
    own = plan.with_algorithm(DIGITS[0](columns=columns))
    *before, choice = own.default_under_algorithm(machine, 1)[1].choices
    schedule = Schedule((*before, replace(choice, unroll=unroll)), own.algorithm)
    kernel = apply_schedule(own, schedule).kernels[-1]
    text = re.sub(r"(?m)^declare.*$", "", module_text([kernel], target))
    order = re.findall(r"llvm\.prefetch|vpdpbusd", text)
    assert order.count("llvm.prefetch") == unroll // 2 * columns * 4 // 64
    together = [pair for pair in pairwise(order) if set(pair) == {"llvm.prefetch"}]
    assert not together
