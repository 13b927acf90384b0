"""Runs kernels for open sizes in this process, at any sizes."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernels.kernel_module import module_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Function
from relay_tune.ir.types import TensorType
from relay_tune.op.lower import lower_function
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.deferred_array import array_of
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import dim_of, size_value, symbolic_size
from tests.codegen.guarded_memory import guarded_array, guarded_copy

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int]


def runner(
    main: Function,
    names: Any,
    target: Target,
    chosen: Schedule | AppliedAlgorithm | None = None,
    examples: tuple[int, int] = (64, 65),
    most: int | None = None,
) -> tuple[ScheduledProgram, Any]:
    """The kernels, checked not to depend on the example, and a function that runs them.

    Under the default schedule, of an algorithm if that is given, or a chosen one. Sizes may have a
    largest one.
    """
    first, schedule = schedule_of(main, names, target, examples[0], chosen, most)
    second, _ = schedule_of(main, names, target, examples[1], schedule, most)
    text = module_text(first.kernels, target)
    assert module_text(second.kernels, target) == text
    code = LoadedCode([compile_text(text, target)], [kernel.name for kernel in first.kernels])

    def run(sizes: Sizes, arrays: Sequence[Array]) -> list[Array]:
        memory: dict[Tensor, Array] = {
            tensor: guarded_copy(array)
            for tensor, array in zip(first.program.inputs, arrays, strict=True)
        }
        constants = {tensor: array_of(data) for tensor, data in first.program.constants}
        memory |= {tensor: guarded_copy(array) for tensor, array in constants.items()}
        for packed in first.packed:
            memory[packed.tensor] = guarded_copy(packed.recipe.pack(constants[packed.source]))
        for tensor in (*first.workspace, *first.program.outputs):
            shape = tuple(size_value(dim_of(extent), sizes) for extent in tensor.shape)
            memory[tensor] = guarded_array(shape, numpy_dtype(tensor.dtype))
        for kernel in first.kernels:
            count = len(kernel.sizes) + 2
            types = [ctypes.c_void_p] * len(kernel.arguments) + [ctypes.c_int64] * count
            pointers = [memory[tensor].ctypes.data for tensor in kernel.arguments]
            numbers = [sizes[name] for name in kernel.sizes]
            for thread in range(2):
                code.function(kernel.name, *types)(*pointers, *numbers, thread, 2)
        return [memory[tensor] for tensor in first.program.outputs]

    return first, run


def schedule_of(
    main: Function,
    names: Any,
    target: Target,
    example: int,
    chosen: Schedule | AppliedAlgorithm | None,
    most: int | None,
) -> tuple[ScheduledProgram, Schedule]:
    """The kernels of a schedule, and itself."""
    sizes = {name: symbolic_size(Symbol(name, 1, most), example) for name in names}
    plan = plan_program(lower_function(main, sizes))
    machine = machine_of(target)
    if isinstance(chosen, AppliedAlgorithm):
        _, chosen = plan.with_algorithm(chosen).default_under_algorithm(machine, 2)
    chosen = chosen or plan.default_schedule(machine, 2)
    return apply_schedule(plan, chosen), chosen


def random_array(rng: np.random.Generator, type_: object, sizes: Sizes) -> Array:
    """Elements of a tensor type with sizes for its symbols."""
    assert isinstance(type_, TensorType)
    shape = [size_value(dim, sizes) for dim in type_.shape]
    if type_.dtype.startswith("int"):
        return rng.integers(0, 7, shape).astype(numpy_dtype(type_.dtype))
    return rng.standard_normal(shape).astype(numpy_dtype(type_.dtype))
