"""Products on matrix registers: their plans, and what a schedule of one computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.scalar_semantics import numpy_dtype
from tests.schedule.convolutions import feeds_of
from tests.schedule.offered import MATRIX_PRODUCTS
from tests.schedule.running import run_schedule

TOLERANCES = {1: 1e-2, 2: 1e-5, 3: 1e-6}
"""By the parts of each factor, as a share of the largest result."""

needs_registers = pytest.mark.skipif(
    not native_target().intrinsics, reason="needs matrix registers"
)


def matrix_index(plan: Plan) -> int:
    """The index of the only nest on matrix registers."""
    (index,) = (n for n, nest in enumerate(plan.nests) if intrinsic_match(nest) is not None)
    return index


def inputs_and_result(program: TensorProgram) -> tuple[dict[Tensor, Any], Any]:
    """Random inputs, and the program's result as it is written."""
    feeds = feeds_of(program)
    (expected,) = evaluate(program.outputs, {**feeds, **program.constant_arrays()})
    return feeds, expected


def interpreted(plan: Plan, schedule: Schedule, feeds: dict[Tensor, Any]) -> Any:
    """The result of the kernels of a schedule, run statement by statement."""
    scheduled = apply_schedule(plan, schedule)
    arrays = {**feeds, **plan.program.constant_arrays()}
    for tensor in (*scheduled.workspace, *scheduled.program.outputs):
        arrays[tensor] = np.full(tensor.shape, np.nan, numpy_dtype(tensor.dtype))
    for kernel in scheduled.kernels:
        flat = {b: arrays[a] for a, b in zip(kernel.arguments, kernel.parameters, strict=True)}
        run_loops(kernel.body, {b: array.reshape(b.shape) for b, array in flat.items()})
    return arrays[scheduled.program.outputs[0]]


def native(
    plan: Plan, schedule: Schedule, feeds: dict[Tensor, Any], threads: int, at_end: bool = True
) -> Any:
    """The result of compiled code between guarded pages."""
    known = {**feeds, **plan.program.constant_arrays()}
    (found,) = run_schedule(plan, schedule, native_target(), known, threads=threads, at_end=at_end)
    return found


def assert_near(found: Any, expected: Any, algorithm: AppliedAlgorithm, schedule: Schedule) -> None:
    bound = TOLERANCES[MATRIX_PRODUCTS[algorithm][0]] * np.abs(expected).max()
    worst = np.abs(found - expected).max()
    assert worst <= bound, f"{worst} of {bound}: {schedule.to_json()}"
