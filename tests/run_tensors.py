"""Compiles tensor expressions and runs them once in this process: native code for one answer.

What differs in its numbers alone has the same code, which is compiled once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.known_objects import KERNELS
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input

Array = np.ndarray[Any, Any]


def run_tensors(
    outputs: Sequence[Tensor],
    feeds: Mapping[Input, Array],
    constants: Sequence[tuple[Input, Array]],
    target: Target,
    schedule: Schedule | None = None,
) -> list[Array]:
    """The arrays of `outputs` as native code on one thread computes them.

    Without a schedule the default one is taken. Raises BuildError if code generation fails.
    """
    program = TensorProgram(tuple(feeds), tuple(outputs), tuple(constants))
    plan = plan_program(program)
    chosen = schedule or plan.default_schedule(machine_of(target), 1)
    scheduled = apply_schedule(plan, chosen)
    arrays = _arrays(scheduled, feeds)
    text = module_text(scheduled.kernels, target)
    image = KERNELS.object_of(text, target, lambda text: compile_text(text, target))
    code = LoadedCode([image], [kernel.name for kernel in scheduled.kernels])
    for kernel in scheduled.kernels:
        types = [ctypes.c_void_p] * len(kernel.arguments) + [ctypes.c_int64] * 2
        pointers = [arrays[tensor].ctypes.data for tensor in kernel.arguments]
        code.function(kernel.name, *types)(*pointers, 0, 1)
    return [arrays[tensor] for tensor in scheduled.program.outputs]


def _arrays(scheduled: ScheduledProgram, feeds: Mapping[Input, Array]) -> dict[Tensor, Array]:
    """An array for each tensor that the kernels are called with."""
    arrays: dict[Tensor, Array] = {t: np.ascontiguousarray(a) for t, a in feeds.items()}
    for source, data in scheduled.program.constants:
        arrays[source] = np.ascontiguousarray(data)
    for packed in scheduled.packed:
        arrays[packed.tensor] = packed.recipe.pack(arrays[packed.source])
    for tensor in (*scheduled.workspace, *scheduled.program.outputs):
        arrays[tensor] = np.empty(tensor.shape, _numpy_dtype(tensor.dtype))
    return arrays


def _numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
