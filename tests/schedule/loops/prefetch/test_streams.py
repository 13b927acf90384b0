"""Constants of a narrow type are asked for ahead where one row streams through them."""

import numpy as np
import pytest

from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.target import parse_target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Scalar, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor

TARGET = parse_target("x86_64-linux-gnu:haswell")


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
    plan = plan_program(_product(rows, 256, columns, dtype))
    schedule = plan.default_schedule(machine_of(TARGET), 1)
    text = module_text(apply_schedule(plan, schedule).kernels, TARGET)
    assert ("llvm.prefetch" in text) == is_asked_for
