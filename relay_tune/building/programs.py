"""From a fused module with control flow to a compiled first-order program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod

import numpy as np

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.kernel_arguments import KernelArguments
from relay_tune.building.open_primitives import example_sizes
from relay_tune.building.primitives import (
    ChooseSchedule,
    PrimitiveCode,
    compile_primitives,
    primitives_of,
)
from relay_tune.building.program_form import program_kernels
from relay_tune.codegen.compiler import compile_optimized, compile_text
from relay_tune.codegen.main_function import KernelCall, Place, call_of, main_text
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.kernel_step import (
    SMALLEST_SHARED_WORK,
    KernelStep,
    OpenSizes,
    StepCall,
)
from relay_tune.codegen.programs.layout_tables import STATIC_COUNT
from relay_tune.codegen.programs.program_text import program_text
from relay_tune.codegen.target import Target
from relay_tune.first_order.kinds import MAXIMUM_OPEN_RANK
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_SHAPE
from relay_tune.first_order.lower_program import lower_program
from relay_tune.first_order.open_primitive import OpenPrimitive
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.tensor.size import is_symbolic, size_value


def compile_program(
    module: Module,
    target: Target,
    threads: int,
    schedules: ChooseSchedule | None,
    report: Callable[[str], None],
) -> CompiledFunctions:
    """The compiled program of a fused module; NoNativeCodeError for what has no native form."""
    program = lower_program(module)
    primitives = primitives_of(program_kernels(program))
    distinct = {primitive.key.digest: primitive for primitive in primitives.values()}
    codes, objects = compile_primitives(distinct, target, threads, schedules, report)
    constants = ProgramConstants()
    steps: dict[Function, KernelStep] = {}
    jobs: dict[str, str] = {}
    for function, primitive in primitives.items():
        code = codes[primitive.key.digest]
        places = KernelArguments(primitive.program, code.scheduled, constants.block)
        calls = _job_calls(code, places)
        job = f"job_{code.key.digest}" if _is_worth_a_job(code, calls, threads) else None
        steps[function] = _step(code, places, job, primitive.open)
        if job is not None:
            jobs[job] = main_text(job, calls, target.triple)
    text = program_text(program, steps, constants.tensor_object, target.triple)
    report("compile the program")
    main = compile_optimized(text.text, target)
    return CompiledFunctions(
        target=target,
        threads=threads,
        program=program,
        objects=(*objects, *(compile_text(job, target) for job in jobs.values()), main),
        constants=constants.block.fill(),
        messages=text.messages,
    )


class ProgramConstants:
    """The constants of a program: those of kernels, and static tensor objects."""

    def __init__(self) -> None:
        self.block = ConstantBlock()
        self._objects: dict[int, np.ndarray] = {}
        self._sources: list[np.ndarray] = []

    def tensor_object(self, data: np.ndarray) -> int:
        """The offset of a static tensor object with this content."""
        known = self._objects.get(id(data))
        if known is None:
            header = np.zeros(TENSOR_DATA, np.uint8)
            header[:4] = np.frombuffer(np.int32(STATIC_COUNT).tobytes(), np.uint8)
            shape = np.array(data.shape[:MAXIMUM_OPEN_RANK], np.int64)
            header[TENSOR_SHAPE : TENSOR_SHAPE + shape.nbytes] = shape.view(np.uint8)
            content = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            known = np.concatenate([header, content])
            self._objects[id(data)] = known
            self._sources.append(data)
        return self.block.add(known)


def _step(
    code: PrimitiveCode, places: KernelArguments, job: str | None, open_: OpenPrimitive | None
) -> KernelStep:
    scheduled = code.scheduled
    calls = tuple(
        StepCall(kernel.name, tuple(places.of(a) for a in kernel.arguments), kernel.sizes)
        for kernel in scheduled.kernels
    )
    return KernelStep(
        title=code.key.title,
        calls=calls,
        arguments=tuple(argument for call in calls for argument in call.arguments),
        workspace=tuple(prod(t.shape) * DTYPES[t.dtype].itemsize for t in scheduled.workspace),
        job=job,
        job_sizes=_job_sizes(code),
        points=sum(kernel.points for kernel in scheduled.kernels),
        sizes=None if open_ is None else _open_sizes(open_),
    )


def _open_sizes(primitive: OpenPrimitive) -> OpenSizes:
    sizes = example_sizes(primitive)
    return OpenSizes(
        symbols={name: (at.input, at.axis) for name, at in primitive.symbols.items()},
        checks=tuple(((at.input, at.axis), size_value(dim, sizes)) for at, dim in primitive.checks),
        outputs=tuple(
            tuple(size_value(dim, sizes) for dim in shape) for shape in primitive.outputs
        ),
    )


def _job_sizes(code: PrimitiveCode) -> tuple[str, ...]:
    """The symbols that the kernels of a primitive are given, each once."""
    return tuple(sorted({name for kernel in code.scheduled.kernels for name in kernel.sizes}))


def _job_calls(code: PrimitiveCode, places: KernelArguments) -> list[KernelCall]:
    """The kernels of a primitive; their arguments stand in one table, the open sizes at its end."""
    calls: list[KernelCall] = []
    slots = itertools.count()
    first_size = sum(len(kernel.arguments) for kernel in code.scheduled.kernels)
    size_slots = {name: first_size + n for n, name in enumerate(_job_sizes(code))}
    for kernel in code.scheduled.kernels:
        table = {tensor: Place(next(slots)) for tensor in kernel.arguments}
        sizes = {place: places.constant_bytes(tensor) for tensor, place in table.items()}
        constants = {place: size for place, size in sizes.items() if size}
        open_slots = [size_slots[name] for name in kernel.sizes]
        calls.append(call_of(kernel, list(table.values()), constants, open_slots))
    return calls


def _is_worth_a_job(code: PrimitiveCode, calls: list[KernelCall], threads: int) -> bool:
    """Whether the kernels of a primitive should run in shares."""
    work = sum(kernel.points for kernel in code.scheduled.kernels)
    is_large = threads > 1 and (is_symbolic(work) or work >= SMALLEST_SHARED_WORK)
    return any(call.swept is not None or (is_large and call.grain > 0) for call in calls)
