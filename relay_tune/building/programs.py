"""From a fused module with control flow to a compiled first-order program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

import numpy as np

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.in_place import with_in_place, with_pairs
from relay_tune.building.joined_schedules import with_shared_packing
from relay_tune.building.kept_kernels import ChooseSchedule, PrimitiveCode
from relay_tune.building.memory_limit import check_kernels, check_region
from relay_tune.building.needless_cases import without_cases
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import compiled_primitives, primitives_of, scheduled_primitives
from relay_tune.building.program_form import program_kernels, program_regions, waiting_kernels
from relay_tune.building.program_steps import StepWriter
from relay_tune.building.recomputation.limit import MemoryLimit
from relay_tune.building.recomputation.limited_program import (
    LimitedProgram,
    check_limitable,
    with_room,
)
from relay_tune.building.recomputation.ordered_program import with_short_lives
from relay_tune.building.recomputation.smaller_kernels import SmallerKernels
from relay_tune.building.rows_packed_alike import with_rows_packed_alike
from relay_tune.building.size_cases import USUAL_SIZES
from relay_tune.building.size_points import SizePoint
from relay_tune.building.workers import BuildWorkers, Compiling
from relay_tune.codegen.compiler import compile_calls, compile_inlined, compile_optimized
from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.known_objects import PROGRAMS
from relay_tune.codegen.processor_features import required_features
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.layout_tables import STATIC_COUNT
from relay_tune.codegen.programs.program_text import program_text
from relay_tune.codegen.programs.session_object import plain_functions
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.program.held_tensors import most_held
from relay_tune.program.in_place_outputs import (
    possible_in_place,
    possible_reuses,
    possible_sharing,
)
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK
from relay_tune.program.layouts import TENSOR_DATA, TENSOR_SHAPE
from relay_tune.program.lone_regions import lone_region
from relay_tune.program.lower_program import lower_program
from relay_tune.program.once_a_run import regions_once_a_run
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.without_weights import without_weights
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import results_for_one_build
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy


@results_for_one_build()
def compile_program(
    module: Module,
    target: Target,
    threads: int,
    schedules: ChooseSchedule | None,
    report: Callable[[str], None],
    sizes: Sequence[int] = USUAL_SIZES,
    points: Sequence[SizePoint] = (),
    defaults: DefaultSchedules | None = None,
    primitives: Mapping[Function, Primitive] | None = None,
    pool: CompilerPool | None = None,
    compiling: Compiling | None = None,
    memory_limit: MemoryLimit | None = None,
) -> CompiledFunctions:
    """The compiled program of a fused module; NoNativeCodeError for what has no native form.

    `sizes` of open dimensions get code of their own, so do `points`. `defaults` are those that
    `schedules` gives, `compiling` is of this build, and may have begun. `primitives` are
    those of the module, and `pool` compiles them, for callers who build it several times.
    `memory_limit` is that of the memory between kernels; InputError where it cannot be kept.
    """
    program = lower_program(module)
    check_kernels(program)
    if memory_limit is not None:
        check_limitable(program)
    if primitives is None:
        primitives = primitives_of(program_kernels(program), sizes, points)
    accuracy = Accuracy.FAST if defaults is None else defaults.accuracy
    joined = with_shared_packing(primitives, program, target, threads, schedules)
    packed = with_rows_packed_alike(joined, target, threads, schedules, accuracy)
    primitives = with_pairs(packed, possible_sharing(program, memory_limit is not None))
    with _begun(compiling, target, defaults) as begun:
        sessions = begun.sessions(bool(program.layouts))

        def scheduled(some: Mapping[str, Primitive]) -> dict[str, PrimitiveCode]:
            return scheduled_primitives(some, target, threads, schedules, begun.workers, defaults)

        limited = None
        if memory_limit is not None:
            smaller = SmallerKernels(machine_of(target), threads, accuracy)
            limited = _limited(program, primitives, scheduled, smaller, memory_limit)
            primitives = limited.primitives
        codes, futures = compiled_primitives(
            _by_digest(primitives),
            target,
            threads,
            schedules,
            report,
            begun,
            pool,
            defaults,
            None if limited is None else limited.codes,
        )
        primitives = {f: without_cases(each, codes) for f, each in primitives.items()}
        if limited is None:
            ordered = with_short_lives(program, primitives, codes)
            kernels = _Kernels(ordered, primitives, codes)
        else:
            kernels = replace(limited, primitives=primitives, codes=codes)
        code = _ProgramCode(kernels, target, threads)
        report("compile the program")
        own_objects = code.objects()
        written = [each.result() for each in futures]
        objects = (*written, *own_objects, *(each.result() for each in sessions))
    return replace(code.compiled(objects), is_strained=kernels.is_strained)


@dataclass(frozen=True)
class _Kernels:
    """A program with the code of its kernels, which is still being compiled, or not even written.

    Attributes:
        program: its kernels in the order in which they run.
        primitives: of its kernels.
        codes: of the primitives, by digest.
        is_strained: whether some kernels are others, or run again, for a limit of memory.
        room: the most bytes for what a region plans, where there is a limit.
    """

    program: FirstOrderProgram
    primitives: Mapping[Function, Primitive]
    codes: Mapping[str, PrimitiveCode]
    is_strained: bool = False
    room: int | None = None

    def in_place(self) -> FirstOrderProgram:
        """The program with results in the memory of what ends there."""
        pairs = {f: self.codes[p.key.digest].in_place for f, p in self.primitives.items()}
        possible = possible_in_place(self.program)
        return with_in_place(self.program, possible, tuple(possible_reuses(self.program)), pairs)


def _limited(
    program: FirstOrderProgram,
    primitives: Mapping[Function, Primitive],
    scheduled: Callable[[Mapping[str, Primitive]], dict[str, PrimitiveCode]],
    smaller: SmallerKernels,
    memory_limit: MemoryLimit,
) -> _Kernels:
    """Kernels whose memory between them is within the limit; InputError where there are none.

    They are compiled once they are known to be.
    """
    codes = scheduled(_by_digest(primitives))
    limited = LimitedProgram(program, primitives, codes, smaller.machine, memory_limit.bytes)
    while True:
        limited = with_room(limited, smaller, scheduled)
        is_strained = limited.codes is not codes or limited.repeats
        own = limited.primitives, limited.codes, is_strained, limited.room
        kernels = _Kernels(limited.ordered(), *own)
        held = most_held(kernels.in_place()) if memory_limit.with_held else 0
        if held <= limited.held:
            return kernels
        limited = replace(limited, held=held)


def _by_digest(primitives: Mapping[Function, Primitive]) -> dict[str, Primitive]:
    every = chain.from_iterable(each.with_parts() for each in primitives.values())
    return {each.key.digest: each for each in every}


@contextmanager
def _begun(
    compiling: Compiling | None, target: Target, defaults: DefaultSchedules | None
) -> Iterator[Compiling]:
    """The given compiling of a build, which has begun, or one that begins and ends here."""
    if compiling is not None:
        yield compiling
        return
    with BuildWorkers(target, defaults) as workers, Compiling(target, workers) as own:
        yield own


class _ProgramCode:
    """The code of a program whose primitives are written."""

    def __init__(self, kernels: _Kernels, target: Target, threads: int) -> None:
        self._program = program = kernels.in_place()
        self._codes = codes = kernels.codes
        self._target = target
        self._constants = ProgramConstants()
        block = self._constants.block
        self._writer = writer = StepWriter(
            kernels.primitives, codes, block, target, threads, kernels.room
        )
        regions = {
            region: writer.step(region) for region in dict.fromkeys(program_regions(program))
        }
        writer.note_once_a_run({regions[each].job for each in regions_once_a_run(program)})
        waiting = {
            function: writer.step(lone_region(function)) for function in waiting_kernels(program)
        }
        self._threads = threads
        for region, step in regions.items():
            check_region(region, block.size + step.workspace)
        self._text = program_text(
            program, waiting, regions, self._constants.tensor_object, target.triple
        )

    def objects(self) -> tuple[bytes, ...]:
        """The object files of the regions' jobs, of the program itself, and what it links."""
        target = self._target
        compile_own = self._inlined if self._text.is_plain else self._optimized
        own = PROGRAMS.object_of(self._text.text, target, compile_own)
        jobs = PROGRAMS.object_of(self._writer.text, target, lambda t: compile_calls(t, target))
        return (jobs, own, plain_functions(target)) if self._text.is_plain else (jobs, own)

    def _optimized(self, text: str) -> bytes:
        return compile_optimized(text, self._target)

    def _inlined(self, text: str) -> bytes:
        return compile_inlined(text, self._target, self._program.functions)

    def compiled(self, objects: tuple[bytes, ...]) -> CompiledFunctions:
        """The program with all object files, those of kernels first."""
        codes, target = self._codes, self._target
        used = (each for code in codes.values() for each in code.used)
        return CompiledFunctions(
            target=target,
            features=required_features(target, used),
            threads=self._threads,
            program=without_weights(self._program),
            objects=objects,
            kernel_objects=len(codes),
            constants=self._constants.block,
            messages=self._text.messages,
            regions=self._writer.titled,
            held=most_held(self._program),
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
