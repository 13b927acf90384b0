"""Runs scheduled programs in this process, kernel by kernel, one simulated thread after another."""

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from relay_tune.building.in_place import with_shared_memory
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Input
from tests.codegen.compiled import compiled
from tests.codegen.guarded_memory import guarded_array, guarded_copy

Array = np.ndarray[Any, Any]

RUNNABLE = {
    "native": (),
    "x86_64-linux-gnu:haswell": ("avx2", "fma", "bmi2"),
    "x86_64-linux-gnu:x86-64": ("sse2",),
}
"""Targets whose code this machine may run, and the features that it needs for that."""


@cache
def runnable_targets(*, half: bool = False) -> tuple[Target, ...]:
    """The targets whose code this machine can run, its own first.

    With `half` only those that convert float16 by themselves (others call a support library).
    """
    present = native_target().features.split(",")
    return tuple(
        parse_target(name)
        for name, needed in RUNNABLE.items()
        if all(f"+{feature}" in present for feature in needed)
        and not (half and needed == ("sse2",))
    )


def program_of(
    outputs: Sequence[Tensor], feeds: Mapping[Input, Array], constants: Sequence[Input] = ()
) -> TensorProgram:
    """The program of `outputs`; `constants` are those inputs whose array is known beforehand."""
    return TensorProgram(
        inputs=tuple(tensor for tensor in feeds if tensor not in constants),
        outputs=tuple(outputs),
        constants=tuple((tensor, feeds[tensor]) for tensor in constants),
    )


@lru_cache(maxsize=2)
def _scheduled(plan: Plan, schedule: Schedule) -> ScheduledProgram:
    """The kernels of a schedule: tests run them on several numbers of threads, one by one."""
    return apply_schedule(plan, schedule)


@lru_cache(maxsize=4)
def _code(scheduled: ScheduledProgram, target: Target) -> LoadedCode:
    """Their code, written once for these runs and those at the other end of a page."""
    names = tuple(kernel.name for kernel in scheduled.kernels)
    return compiled(module_text(scheduled.kernels, target), names, target)


def run_schedule(
    plan: Plan,
    schedule: Schedule,
    target: Target,
    feeds: Mapping[Input, Array],
    *,
    threads: int = 1,
    at_end: bool = True,
    in_place: tuple[int, int] | None = None,
) -> list[Array]:
    """The outputs of a plan under a schedule; every buffer lies between guarded pages.

    An input and an output that are `in_place`, by number, lie in the same memory.

    Outputs and workspace hold rubbish at first, so that an element which is not written shows.
    """
    scheduled = _scheduled(plan, schedule)
    feeds = {**plan.with_algorithm(schedule.algorithm).program.constant_arrays(), **feeds}
    if in_place is not None:
        scheduled, pairs = with_shared_memory(scheduled, frozenset([in_place]))
        assert pairs == {in_place}
    arrays: dict[Tensor, Array] = {
        tensor: guarded_copy(array, at_end=at_end) for tensor, array in feeds.items()
    }
    for packed in scheduled.packed:
        data = packed.recipe.pack(feeds[packed.source])
        arrays[packed.tensor] = guarded_copy(data, at_end=at_end)
    for tensor in (*scheduled.workspace, *scheduled.program.outputs):
        arrays[tensor] = guarded_array(tensor.shape, numpy_dtype(tensor.dtype), at_end=at_end)
    if in_place is not None:
        read, written = in_place
        arrays[scheduled.program.outputs[written]] = arrays[scheduled.program.inputs[read]]
    code = _code(scheduled, target)
    for kernel in scheduled.kernels:
        types = [ctypes.c_void_p] * len(kernel.arguments) + [ctypes.c_int64] * 2
        function = code.function(kernel.name, *types)
        pointers = [arrays[tensor].ctypes.data for tensor in kernel.arguments]
        for thread in range(threads):
            function(*pointers, thread, threads)
    return [arrays[tensor] for tensor in scheduled.program.outputs]
