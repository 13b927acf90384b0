"""Calls of kernels: where their arguments lie, and memory for what they write.

Where sizes are open, they are read from the inputs' objects, checked, and given to the kernels;
results and workspace get memory for the sizes that they have this time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from relay_tune.codegen.programs.kernel_step import (
    SMALLEST_SHARED_WORK,
    Argument,
    FoundSizes,
    KernelStep,
    OpenSizes,
    Source,
)
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import THREADS
from relay_tune.codegen.programs.values import llvm_type
from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.first_order.instructions import Register, RunKernel
from relay_tune.first_order.kinds import ScalarKind, TensorKind
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_LAYOUT, field_bytes
from relay_tune.ir.dim_arithmetic import is_sum_of_sizes
from relay_tune.tensor.size import dim_of, is_symbolic, surely_less


def write_kernel_step(instruction: RunKernel, step: KernelStep, objects: ObjectWriter) -> None:
    """Run the kernels of a primitive on registers; scalars pass through memory."""
    _StepWriter(instruction.inputs, step, objects).write(instruction.outputs)


def write_step(
    step: KernelStep, inputs: Sequence[str], outputs: Sequence[str], objects: ObjectWriter
) -> None:
    """Run the kernels of a primitive without open sizes on elements at addresses."""
    _StepWriter((), step, objects).write_on(inputs, outputs)


class _StepWriter:
    def __init__(self, inputs: Sequence[Register], step: KernelStep, objects: ObjectWriter) -> None:
        self._inputs = inputs
        self._step = step
        self._objects = objects
        self._writer = objects.writer
        self._pointers: dict[Argument, str] = {}
        self._symbols: dict[str, str] = {}
        self._sizes = SizeWriter(self._symbols, self._writer.pure)

    def write(self, outputs: Sequence[Register]) -> None:
        """The whole step, with memory for its outputs."""
        objects = self._objects
        if self._step.sizes is not None:
            self._read_sizes(self._step.sizes)
            if self._step.stretched:
                self._write_where_sizes_fit(self._step.sizes, outputs)
                return
            for fits in self._fits(self._step.sizes):
                objects.require(fits, self._misfit)
        self._write_all(outputs)

    def _write_all(self, outputs: Sequence[Register]) -> None:
        """The step for inputs that passed the checks of sizes."""
        objects = self._objects
        self._place(Source.INPUT, [objects.elements_of(register) for register in self._inputs])
        if self._step.found is not None:
            self._find_sizes(self._step.found)
        slots = [self._output_address(place, output) for place, output in enumerate(outputs)]
        self._place(Source.OUTPUT, slots)
        self._write_cases()
        for slot, register in zip(slots, outputs, strict=True):
            if isinstance(register.kind, ScalarKind):
                objects.names[register] = objects.load_value(register.kind, slot, 0)

    def write_on(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """The step on elements at addresses."""
        self._place(Source.INPUT, inputs)
        self._place(Source.OUTPUT, outputs)
        self._write_cases()

    def _place(self, source: Source, addresses: Sequence[str]) -> None:
        for place, address in enumerate(addresses):
            self._pointers[Argument(source, place)] = address

    def _write_cases(self) -> None:
        """The first case that fits the sizes, or else the step itself."""
        writer = self._writer
        end = writer.fresh("ran").removeprefix("%")
        if not self._step.cases:
            self._write_step(self._step)
            return
        for number, case in enumerate(self._step.cases):
            writer.push_scope()
            fits = "true"
            for name, (least, most) in case.bounds.items():
                above = writer.pure(f"sub i64 {self._symbols[name]}, {least}")
                inside = writer.pure(f"icmp ule i64 {above}, {most - least}")
                fits = inside if fits == "true" else writer.pure(f"and i1 {fits}, {inside}")
            writer.line(f"br i1 {fits}, label %{end}.case{number}, label %{end}.not{number}")
            writer.start_block(f"{end}.case{number}")
            self._write_step(case.step)
            writer.pop_scope()
            writer.line(f"br label %{end}")
            writer.start_block(f"{end}.not{number}")
        writer.push_scope()
        self._write_step(self._step)
        writer.pop_scope()
        writer.line(f"br label %{end}")
        writer.start_block(end)

    def _write_step(self, step: KernelStep) -> None:
        """Workspace and the kernels of a step."""
        objects = self._objects
        # What another case has computed is not known in the block of this one.
        self._sizes = SizeWriter(self._symbols, self._writer.pure)
        blocks = [self._workspace_block(size) for size in step.workspace]
        pointers = dict(self._pointers)
        for place, block in enumerate(blocks):
            pointers[Argument(Source.WORKSPACE, place)] = objects.data(block)
        for argument in step.arguments:
            if argument.source is Source.CONSTANT:
                pointers[argument] = objects.address("@relay_tune_constants", argument.place)
        self._run(step, pointers)
        for size, block in zip(step.workspace, blocks, strict=True):
            if is_symbolic(size):
                objects.release(block)
            else:
                objects.free_tensor(block, TENSOR_DATA + size)

    def _read_sizes(self, sizes: OpenSizes) -> None:
        """Read the symbols from the inputs."""
        for name, (index, axis, divisor) in sizes.symbols.items():
            size = self._input_size(index, axis)
            if divisor > 1:
                size = self._writer.pure(f"udiv i64 {size}, {divisor}")
            self._symbols[name] = size

    def _fits(self, sizes: OpenSizes) -> Iterator[str]:
        """Whether the sizes that the symbols do not name fit them, one by one."""
        for (place, axis), expected in sizes.checks:
            given, wanted = self._input_size(place, axis), self._sizes.text(expected)
            yield self._writer.pure(f"icmp eq i64 {given}, {wanted}")

    @property
    def _misfit(self) -> str:
        return f"The inputs of {self._step.title} have sizes that do not fit each other."

    def _write_where_sizes_fit(self, sizes: OpenSizes, outputs: Sequence[Register]) -> None:
        """The step if all sizes fit; else the first of those for a size of 1."""
        writer, objects = self._writer, self._objects
        end = writer.fresh("stretched").removeprefix("%")
        results: list[tuple[str, list[str]]] = []

        def write_branch(fits: str, label: str, write: Callable[[], None]) -> None:
            writer.line(f"br i1 {fits}, label %{end}.{label}, label %{end}.not{label}")
            writer.start_block(f"{end}.{label}")
            write()
            writer.pop_scope()
            results.append((writer.block, [objects.names[output] for output in outputs]))
            writer.line(f"br label %{end}")
            writer.start_block(f"{end}.not{label}")

        writer.push_scope()
        fits = "true"
        for each in self._fits(sizes):
            fits = writer.pure(f"and i1 {fits}, {each}")
        write_branch(fits, "equal", lambda: self._write_all(outputs))
        for number, stretched in enumerate(self._step.stretched):
            writer.push_scope()
            is_one = writer.pure(f"icmp eq i64 {self._input_size(*stretched.place)}, 1")
            other = _StepWriter(self._inputs, stretched.step, objects)
            write_branch(is_one, f"one{number}", partial(other.write, outputs))
        objects.require("false", self._misfit)
        writer.line("unreachable")
        writer.start_block(end)
        for place, output in enumerate(outputs):
            name = writer.fresh()
            sources = ", ".join(f"[ {names[place]}, %{block} ]" for block, names in results)
            writer.line(f"{name} = phi {llvm_type(output.kind)} {sources}")
            objects.names[output] = name

    def _find_sizes(self, found: FoundSizes) -> None:
        """Run the step that finds sizes."""
        slot = self._objects.stack_slot(8 * len(found.symbols))
        self._pointers[Argument(Source.OUTPUT, 0)] = slot
        self._write_step(found.step)
        for place, name in enumerate(found.symbols):
            self._symbols[name] = self._objects.load("i64", slot, 8 * place)
            self._require_size(self._symbols[name])

    def _require_size(self, size: str) -> None:
        fits = self._writer.pure(f"icmp sge i64 {size}, 0")
        message = f"The sizes of the inputs of {self._step.title} do not fit the operation."
        self._objects.require(fits, message)

    def _input_size(self, place: int, axis: int) -> str:
        return self._objects.size(self._objects.names[self._inputs[place]], axis)

    def _output_address(self, place: int, register: Register) -> str:
        objects, kind = self._objects, register.kind
        if isinstance(kind, ScalarKind):
            return objects.stack_slot(field_bytes(kind))
        assert isinstance(kind, TensorKind)
        if self._step.sizes is None:
            objects.names[register] = objects.new_result(register)
        else:
            sizes = self._step.sizes.outputs[place]
            shape = [self._output_size(size) for size in sizes]
            in_place = objects.results_in_place.get(register)
            objects.names[register] = (
                objects.new_open_tensor(shape, kind.type.dtype) if in_place is None else in_place
            )
        return objects.data(objects.names[register])

    def _output_size(self, size: int) -> str:
        """A size of a result, which ends the call where it is negative.

        That of a slice such as x[1:] is 0 where x is empty, for whose size n there is code for at
        least 1 only.
        """
        text = self._sizes.text(size)
        if not surely_less(-1, size):  # such as n - 2
            self._require_size(text)
        elif not is_sum_of_sizes(dim_of(size)):  # such as n - 1
            is_size = self._writer.pure(f"icmp sgt i64 {text}, 0")
            text = self._writer.pure(f"select i1 {is_size}, i64 {text}, i64 0")
        return text

    def _workspace_block(self, size: int) -> str:
        if is_symbolic(size):
            return self._objects.new_open_block(self._sizes.text(size))
        return self._objects.new_block(TENSOR_DATA + size, TENSOR_LAYOUT)

    def _run(self, step: KernelStep, pointers: Mapping[Argument, str]) -> None:
        """The kernels, on the threads of the pool where there is enough to do."""
        if step.job is None:
            self._write_calls(step, pointers)
            return
        if not is_symbolic(step.points):
            self._write_job(step, pointers)
            return
        writer = self._writer
        points = self._sizes.text(step.points)
        is_large = writer.pure(f"icmp sge i64 {points}, {SMALLEST_SHARED_WORK}")
        label = writer.fresh("run").removeprefix("%")
        writer.line(f"br i1 {is_large}, label %{label}.job, label %{label}.calls")
        for name in ("job", "calls"):
            writer.start_block(f"{label}.{name}")
            writer.push_scope()
            if name == "job":
                self._write_job(step, pointers)
            else:
                self._write_calls(step, pointers)
            writer.pop_scope()
            writer.line(f"br label %{label}.end")
        writer.start_block(f"{label}.end")

    def _write_calls(self, step: KernelStep, pointers: Mapping[Argument, str]) -> None:
        for call in step.calls:
            texts = [f"ptr {pointers[argument]}" for argument in call.arguments]
            texts += [f"i64 {self._symbols[name]}" for name in call.sizes]
            self._writer.line(f"call void @{call.symbol}({', '.join(texts)}, i64 0, i64 1)")

    def _write_job(self, step: KernelStep, pointers: Mapping[Argument, str]) -> None:
        objects, writer = self._objects, self._writer
        words = [f"ptr {pointers[argument]}" for argument in step.arguments]
        words += [f"i64 {self._symbols[name]}" for name in step.job_sizes]
        table = objects.stack_slot(8 * len(words))
        for place, word in enumerate(words):
            writer.line(f"store {word}, ptr {objects.address(table, 8 * place)}, align 8")
        threads = objects.load("i64", "%session", THREADS)
        writer.line(f"call void @relay_tune_run(ptr @{step.job}, ptr {table}, i64 {threads})")
