"""Runs of regions: where their inputs lie, memory for what they write, one job for all kernels.

Where sizes are known at run time only, they are read from the inputs' objects, computed and checked
when the region begins; results and workspace get memory for the sizes that they have this time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.region_step import (
    SMALLEST_SHARED_WORK,
    DynamicSizes,
    Extents,
    FoundSizes,
    RegionStep,
    SizeCase,
)
from relay_tune.codegen.programs.session import THREADS
from relay_tune.codegen.programs.values import llvm_type
from relay_tune.codegen.size_writer import SizeWriter
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.program.instructions import Register, RunRegion
from relay_tune.program.kinds import ScalarKind, TensorKind
from relay_tune.program.layouts import TENSOR_DATA, TENSOR_LAYOUT, field_bytes
from relay_tune.program.region import SizeCheck
from relay_tune.program.size_naming import SizeSource


def write_region(instruction: RunRegion, step: RegionStep, objects: ObjectWriter) -> None:
    """Run a region on registers; numbers pass through memory."""
    writer = _RegionWriter(instruction.inputs, step, objects, instruction.reuses)
    writer.write(instruction.outputs)


def write_step(
    step: RegionStep, inputs: Sequence[str], outputs: Sequence[str], objects: ObjectWriter
) -> None:
    """Run a region of known sizes on elements at addresses."""
    _RegionWriter((), step, objects).write_on([*inputs, *outputs])


class _RegionWriter:
    def __init__(
        self,
        inputs: Sequence[Register],
        step: RegionStep,
        objects: ObjectWriter,
        reuses: Mapping[int, int] | None = None,
    ) -> None:
        self._inputs = inputs
        self._reuses = reuses or {}
        self._step = step
        self._objects = objects
        self._writer = objects.writer
        self._symbols: dict[str, str] = {}
        self._sizes = SizeWriter(self._symbols, self._writer.pure)

    def write(self, outputs: Sequence[Register]) -> None:
        """The whole region, with memory for its outputs."""
        sizes = self._step.sizes
        if sizes is None:
            self._write_on_inputs(outputs)
            return
        for name, at in sizes.symbols.items():
            self._symbols[name] = self._input_size(at)
        if self._step.stretched:
            self._write_where_sizes_fit(sizes, outputs)
            return
        self._check(each for each in sizes.checks if self._is_known(each))
        self._write_on_inputs(outputs)

    def write_on(self, addresses: Sequence[str]) -> None:
        """The region on elements of its inputs and outputs at addresses."""
        sizes, objects = self._step.sizes, self._objects
        if sizes is not None:
            self._write_dynamic(sizes, addresses)
            return
        block, size = None, TENSOR_DATA + self._step.workspace
        if self._step.workspace:
            block = objects.new_block(size, TENSOR_LAYOUT)
        workspace = "null" if block is None else objects.data(block)
        self._run(["ptr " + word for word in (*addresses, workspace, "@relay_tune_constants")])
        if block is not None:
            objects.free_tensor(block, size)

    def _write_on_inputs(self, outputs: Sequence[Register]) -> None:
        """The region for inputs that passed the checks of sizes."""
        objects = self._objects
        inputs = [objects.elements_of(register) for register in self._inputs]
        if self._step.found is not None:
            self._find_sizes(self._step.found, inputs)
        addresses = [self._output_address(index, output) for index, output in enumerate(outputs)]
        self.write_on([*inputs, *addresses])
        for address, register in zip(addresses, outputs, strict=True):
            if isinstance(register.kind, ScalarKind):
                objects.names[register] = objects.load_value(register.kind, address, 0)

    def _write_dynamic(self, sizes: DynamicSizes, addresses: Sequence[str]) -> None:
        """The region in blocks of a workspace that is as large as its tensors are this time."""
        objects, writer = self._objects, self._writer
        ends = [str(self._step.workspace)]
        for extents in sizes.blocks:
            ends.append(writer.pure(f"add i64 {ends[-1]}, {self._block_bytes(extents)}"))
        block = None if ends == ["0"] else objects.new_open_block(ends[-1])
        workspace = "null" if block is None else objects.data(block)
        words = ["ptr " + word for word in (*addresses, workspace, "@relay_tune_constants")]
        for begin in ends[:-1]:
            words.append("ptr " + writer.pure(f"getelementptr i8, ptr {workspace}, i64 {begin}"))
        for word in sizes.words:
            text = self._case(word) if isinstance(word, tuple) else self._sizes.dim(word)
            words.append(f"i64 {text}")
        self._run(words)
        if block is not None:
            objects.release(block)

    def _block_bytes(self, tensors: Sequence[Extents]) -> str:
        """The bytes of the largest of some tensors, rounded up to a cache line."""
        writer, most = self._writer, "0"
        for extents in tensors:
            size = self._objects.bytes_of([self._sizes.dim(dim) for dim in extents])
            if most != "0":
                is_more = writer.pure(f"icmp sgt i64 {size}, {most}")
                size = writer.pure(f"select i1 {is_more}, i64 {size}, i64 {most}")
            most = size
        padded = writer.pure(f"add i64 {most}, 63")
        return writer.pure(f"and i64 {padded}, -64")

    def _case(self, cases: Sequence[SizeCase]) -> str:
        """The number of the first case that fits the sizes, or how many there are."""
        writer, chosen = self._writer, str(len(cases))
        for number, case in reversed(list(enumerate(cases))):
            fits = "true"
            for size, least, most in case.bounds:
                above = writer.pure(f"sub i64 {self._sizes.dim(size)}, {least}")
                inside = writer.pure(f"icmp ule i64 {above}, {most - least}")
                fits = inside if fits == "true" else writer.pure(f"and i1 {fits}, {inside}")
            chosen = writer.pure(f"select i1 {fits}, i64 {number}, i64 {chosen}")
        return chosen

    def _run(self, words: Sequence[str]) -> None:
        """The job, on the threads of the pool where there is enough to do."""
        objects, writer, job = self._objects, self._writer, self._step.job
        table = objects.stack_slot(8 * len(words))
        for index, word in enumerate(words):
            writer.line(f"store {word}, ptr {objects.address(table, 8 * index)}, align 8")
        alone = f"call void @{job}(ptr {table}, i64 0, i64 1)"
        points = self._step.points
        if isinstance(points, int) and points < SMALLEST_SHARED_WORK:
            writer.line(alone)
            return
        threads = objects.load("i64", "%session", THREADS)
        together = f"call void @relay_tune_run(ptr @{job}, ptr {table}, i64 {threads})"
        if isinstance(points, int):
            writer.line(together)
            return
        count = self._sizes.dim(points)
        is_large = writer.pure(f"icmp sge i64 {count}, {SMALLEST_SHARED_WORK}")
        for side in writer.sides(is_large, "run", "all", "one"):
            writer.line(together if side == "all" else alone)

    def _check(self, checks: Iterable[SizeCheck]) -> None:
        for each in checks:
            self._objects.require(self._fits(each), each.message)

    def _fits(self, check: SizeCheck) -> str:
        value = self._sizes.dim(check.value)
        if check.wanted is None:
            return self._writer.pure(f"icmp sge i64 {value}, 0")
        return self._writer.pure(f"icmp eq i64 {value}, {self._sizes.dim(check.wanted)}")

    def _is_known(self, check: SizeCheck) -> bool:
        """Whether a check needs no sizes that are still to be found."""
        return symbol_names(check.value) <= self._symbols.keys()

    def _write_where_sizes_fit(self, sizes: DynamicSizes, outputs: Sequence[Register]) -> None:
        """The region if all sizes fit; else the first of those for a size of 1."""
        writer, objects = self._writer, self._objects
        end = writer.label("stretched")
        results: list[tuple[str, list[str]]] = []
        equal = [check for check in sizes.checks if check.wanted is not None]
        others = [check for check in sizes.checks if check.wanted is None]

        def write_branch(
            condition: Callable[[], str], label: str, write: Callable[[], None]
        ) -> None:
            with writer.scope():
                writer.line(f"br i1 {condition()}, label %{end}.{label}, label %{end}.not{label}")
                writer.start_block(f"{end}.{label}")
                write()
            results.append((writer.block, [objects.names[output] for output in outputs]))
            writer.line(f"br label %{end}")
            writer.start_block(f"{end}.not{label}")

        def all_fit() -> str:
            fits = "true"
            for each in equal:
                fits = writer.pure(f"and i1 {fits}, {self._fits(each)}")
            return fits

        def is_one(source: SizeSource) -> str:
            return writer.pure(f"icmp eq i64 {self._input_size(source)}, 1")

        def write_equal() -> None:
            self._check(others)
            self._write_on_inputs(outputs)

        write_branch(all_fit, "equal", write_equal)
        for number, stretched in enumerate(self._step.stretched):
            other = _RegionWriter(self._inputs, stretched.step, objects)
            condition = partial(is_one, stretched.place)
            write_branch(condition, f"one{number}", partial(other.write, outputs))
        objects.require("false", equal[0].message)
        writer.line("unreachable")
        writer.start_block(end)
        for index, output in enumerate(outputs):
            name = writer.fresh()
            sources = ", ".join(f"[ {names[index]}, %{block} ]" for block, names in results)
            writer.line(f"{name} = phi {llvm_type(output.kind)} {sources}")
            objects.names[output] = name

    def _find_sizes(self, found: FoundSizes, inputs: Sequence[str]) -> None:
        """Run the region that finds sizes."""
        objects = self._objects
        slot = objects.stack_slot(8 * len(found.symbols))
        finder = _RegionWriter(self._inputs, found.step, objects)
        finder._symbols.update(self._symbols)
        finder.write_on([*inputs, slot])
        for index, name in enumerate(found.symbols):
            size = self._symbols[name] = objects.load("i64", slot, 8 * index)
            objects.require(self._writer.pure(f"icmp sge i64 {size}, 0"), found.message)
        if self._step.sizes is not None:
            names = set(found.symbols)
            late = (
                c for c in self._step.sizes.checks if not names.isdisjoint(symbol_names(c.value))
            )
            self._check(late)

    def _input_size(self, at: SizeSource) -> str:
        return self._objects.size(self._objects.names[self._inputs[at.input]], at.axis)

    def _output_address(self, index: int, register: Register) -> str:
        objects, kind = self._objects, register.kind
        if isinstance(kind, ScalarKind):
            return objects.stack_slot(field_bytes(kind))
        assert isinstance(kind, TensorKind)
        if index in self._reuses:
            old = objects.names[self._inputs[self._reuses[index]]]
            objects.names[register] = objects.reused(old, kind)
        elif not kind.is_open:
            objects.names[register] = objects.new_result(register)
        else:
            shape = [self._sizes.dim(dim) for dim in self._step.shapes[index]]
            in_place = objects.results_in_place.get(register)
            objects.names[register] = in_place or objects.new_open_tensor(shape, kind.type.dtype)
        return objects.data(objects.names[register])
