"""Loop nests to LLVM IR: one function for each kernel.

    void kernel(ptr buffer, ..., i64 thread, i64 threads)

Every thread calls the kernel; a PARALLEL loop gives each its share, everything else outside of
parallel loops runs on thread 0. Register buffers become values that loops carry in phi nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.function_writer import FunctionWriter, Lines
from relay_tune.codegen.kernels.carried_registers import CarriedRegisters
from relay_tune.codegen.kernels.matrix_writer import MatrixWriter
from relay_tune.codegen.kernels.store_writer import StoreWriter
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.kernels.vector_lanes import LANE, VectorContext
from relay_tune.codegen.llvm_types import memory_type
from relay_tune.tensor.affine import Affine, constant
from relay_tune.tensor.expression import Literal, Scalar, Tensor
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Buffer,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Prefetch,
    Scope,
    Statement,
    Store,
    While,
)
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.size import UndecidedSizeError, is_symbolic, surely_less
from relay_tune.tensor.touched import has_parallel_loop, written_buffers


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The IR text of a function and the declarations that it needs."""

    text: str
    declarations: frozenset[str]


@lru_cache(maxsize=512)
def write_kernel(
    kernel: Kernel, scales_powers: bool = False, rounds_bfloats: bool = False
) -> FunctionText:
    """The LLVM function of a kernel.

    `scales_powers` and `rounds_bfloats` say that the machine has the instructions of the properties
    of `Target` with these names.
    """
    return StatementWriter(kernel, scales_powers, rounds_bfloats).write()


class StatementWriter:
    """Writes the body of one kernel."""

    def __init__(self, kernel: Kernel, scales_powers: bool, rounds_bfloats: bool) -> None:
        self.kernel = kernel
        sizes = {name: f"%n{n}" for n, name in enumerate(kernel.sizes)}
        self.writer = FunctionWriter(
            sizes, scales_powers=scales_powers, rounds_bfloats=rounds_bfloats
        )
        pointers = {tensor: f"%arg{n}" for n, tensor in enumerate(kernel.parameters)}
        self.values = ValueWriter(self.writer, pointers)
        self.stores = StoreWriter(self.values)
        self.matrices = MatrixWriter(self.values)
        self.carried = CarriedRegisters(self.writer, self.values.loads)
        self.parallel = has_parallel_loop(kernel.body)

    def write(self) -> FunctionText:
        """The whole function."""
        parameters = ", ".join(
            f"ptr noalias align 4 %arg{n}" for n in range(len(self.kernel.arguments))
        )
        sizes = "".join(f", i64 {name}" for name in self.writer.size_symbols.values())
        comma = ", " if parameters else ""
        head = (
            f"define void @{self.kernel.name}({parameters}{sizes}{comma}i64 %thread, i64 %threads) "
            f"nounwind {{\nentry:"
        )
        self._on_thread_zero(self.kernel.body)
        self.writer.line("ret void")
        text = f"{head}\n{self.writer.text()}\n}}\n"
        return FunctionText(text, frozenset(self.writer.declarations))

    def _on_thread_zero(self, body: Statement) -> None:
        """Write `body`; parts without a parallel loop are left to thread 0."""
        match body:
            case Block():
                for statement in body.statements:
                    self._on_thread_zero(statement)
            case Allocate() if has_parallel_loop(body):
                self._allocate(body.buffer)
                self._on_thread_zero(body.body)
            case MatrixRegisters() if has_parallel_loop(body):
                self.matrices.begin(body)
                self._on_thread_zero(body.body)
                self.matrices.end()
            case _ if has_parallel_loop(body):
                self.statement(body)
            case _:
                w = self.writer
                first = w.pure("icmp eq i64 %thread, 0")
                label = w.fresh("serial").removeprefix("%")
                w.line(f"br i1 {first}, label %{label}.run, label %{label}.end")
                w.start_block(f"{label}.run")
                w.push_scope()
                self.statement(body)
                w.pop_scope()
                w.line(f"br label %{label}.end")
                w.start_block(f"{label}.end")

    def statement(self, node: Statement) -> None:
        """Write a statement."""
        match node:
            case Block():
                for statement in node.statements:
                    self.statement(statement)
            case Loop():
                self._loop(node)
            case Let():
                self._let(node)
            case Store():
                self._written(self.stores.store(node))
            case Prefetch():
                self.stores.prefetch(node)
            case Branch():
                self._branch(node)
            case While():
                self._while(node)
            case Allocate():
                self._allocate(node.buffer)
                self.statement(node.body)
                self.values.loads.registers.pop(node.buffer, None)
            case MatrixRegisters():
                self.matrices.begin(node)
                self.statement(node.body)
                self.matrices.end()
            case MatrixClear():
                self.matrices.clear(node)
            case MatrixLoad():
                self.matrices.load(node)
            case MatrixMultiply():
                self.matrices.multiply(node)
            case MatrixStore():
                self.matrices.store(node)
                self._written(node.buffer)
            case _:
                raise TypeError(f"not a statement: {type(node).__name__}")

    # Loops -----------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        begin, end = self._literal(loop.begin), self._literal(loop.end)
        match loop.kind:
            case LoopKind.UNROLLED:
                assert begin is not None and end is not None
                self._unrolled(loop, begin, end)
            case LoopKind.VECTOR:
                assert begin is not None and end is not None
                self._vector(loop, begin, end)
            case _ if begin is not None and end == begin + 1 and loop.kind is LoopKind.SERIAL:
                self.values.indices.environment[loop.axis] = constant(begin)
                self.statement(loop.body)
            case _ if begin is not None and end is not None and surely_less(end, begin + 1):
                return
            case _:
                self._counted(loop, begin, end)

    def _unrolled(self, loop: Loop, begin: int, end: int) -> None:
        """The body for each position; strided stores wait for the end of all such loops."""
        for position in range(begin, end):
            self.values.loads.unrolled[loop.axis] = (position - begin, end - 1 - position)
            self.values.indices.environment[loop.axis] = constant(position)
            self.statement(loop.body)
        self.values.loads.unrolled.pop(loop.axis, None)
        if not self.values.loads.unrolled:
            self.values.loads.pending.flush()

    def _nested(self, body: Statement) -> None:
        """A body in blocks of its own: nothing is held back or shared across its edges."""
        outer, self.values.loads.unrolled = self.values.loads.unrolled, {}
        self.statement(body)
        self.values.loads.pending.flush()
        self.values.loads.unrolled = outer

    def _let(self, node: Let) -> None:
        """Name a value; one that is not affine starts a level, as the variable of a loop does.

        So does an open size, whose multiples are then computed once.
        """
        form = self.values.indices.affine(node.value)
        if form is not None and not is_symbolic(form.constant):
            self.values.indices.environment[node.axis] = form
            steps = self._steps(node.value, form)
            if steps is not None:
                self.values.loads.unrolled[node.axis] = steps
            self.statement(node.body)
            self.values.loads.unrolled.pop(node.axis, None)
            return
        value = self.values.evaluate(node.value).text
        name = self.writer.fresh("let")
        self.writer.line(f"{name} = add i64 {value}, 0")
        self.writer.push_scope()
        self.writer.push_level()
        self.writer.bind(name, 0, node.axis.extent - 1)
        self.values.indices.environment[node.axis] = Affine({name: 1})
        self.statement(node.body)
        self.writer.pop_level()
        self.writer.pop_scope()

    def _steps(self, value: Scalar, form: Affine) -> tuple[int, int] | None:
        """The steps by one that the unrolled loops around make with a value, if they do."""
        for axis, steps in self.values.loads.unrolled.items():
            here = self.values.indices.environment[axis]
            self.values.indices.environment[axis] = here.shift(1)
            moved = self.values.indices.affine(value)
            self.values.indices.environment[axis] = here
            if moved == form.shift(1):
                return steps
        return None

    def _literal(self, bound: Scalar) -> int | None:
        if not isinstance(bound, Literal) or not isinstance(bound.value, int):
            return None
        return bound.value

    def _vector(self, loop: Loop, begin: int, end: int) -> None:
        active = end - begin
        most = loop.axis.extent if is_symbolic(active) else active
        lanes = 1 << max(most - 1, 0).bit_length()
        outer = self.values.lanes.vector
        self.values.lanes.vector = VectorContext(lanes, active if lanes > 1 else 1)
        self.values.indices.environment[loop.axis] = Affine({LANE: 1}, begin)
        self.statement(loop.body)
        self.values.lanes.vector = outer

    def _counted(self, loop: Loop, begin: int | None, end: int | None) -> None:
        w = self.writer
        low = w.size(begin) if begin is not None else self._bound(loop.begin)
        high = w.size(end) if end is not None else self._bound(loop.end)
        if loop.kind is LoopKind.PARALLEL:
            low, high = self._share(low, high)
        self.values.loads.pending.flush()
        label = w.fresh("loop").removeprefix("%")
        is_open = begin is None or end is None or is_symbolic(end - begin)
        may_be_empty = loop.kind is LoopKind.PARALLEL or is_open
        before = w.block
        if may_be_empty:
            some = w.fresh("some")
            w.line(f"{some} = icmp slt i64 {low}, {high}")
            w.line(f"br i1 {some}, label %{label}, label %{label}.end")
        else:
            w.line(f"br label %{label}")
        w.start_block(label)
        index, following = w.fresh("i"), w.fresh("n")
        phis: Lines = []
        w.lines.append(phis)
        initial = self.carried.enter(loop.body)
        self._bump(loop.body)
        w.push_scope()
        w.push_level()
        least = begin if begin is not None else 0
        most = end - 1 if end is not None else (1 << 40)
        w.bind(index, least, most)
        self.values.indices.environment[loop.axis] = Affine({index: 1})
        self._nested(loop.body)
        w.pop_level()
        w.pop_scope()
        latch = w.block
        w.line(f"{following} = add nsw i64 {index}, 1")
        more = w.fresh("more")
        w.line(f"{more} = icmp slt i64 {following}, {high}")
        w.line(f"br i1 {more}, label %{label}, label %{label}.end")
        phis.append(f"  {index} = phi i64 [ {low}, %{before} ], [ {following}, %{latch} ]")
        phis += self.carried.phi_lines(initial, before, latch)
        w.start_block(f"{label}.end")
        if may_be_empty:
            self.carried.leave(initial, before, latch)
        self._bump(loop.body)

    def _bound(self, bound: Scalar) -> str:
        return self.values.evaluate(bound).text

    def _share(self, low: str, high: str) -> tuple[str, str]:
        """This thread's part of a range: as even as whole iterations allow."""
        a = Arithmetic(self.writer, "int64", 0)
        count = a.binary("sub", high, low)
        first = a.binary("udiv", a.binary("mul", count, "%thread"), "%threads")
        after = a.binary("add", "%thread", "1")
        last = a.binary("udiv", a.binary("mul", count, after), "%threads")
        return a.binary("add", low, first), a.binary("add", low, last)

    def _bump(self, body: Statement) -> None:
        """Loads from before and after must not be merged for buffers that `body` writes."""
        for buffer in written_buffers(body):
            self._written(buffer)

    def _written(self, buffer: Tensor) -> None:
        self.values.loads.versions[buffer] = self.values.loads.versions.get(buffer, 0) + 1

    # Other statements ------------------------------------------------------------------------

    def _branch(self, node: Branch) -> None:
        decided = self.values.indices.decide(node.condition)
        if decided is not None:
            chosen = node.then if decided else node.otherwise
            if chosen is not None:
                self.statement(chosen)
            return
        w = self.writer
        self.values.loads.pending.flush()
        condition = self.values.evaluate(node.condition)
        label = w.fresh("if").removeprefix("%")
        w.line(f"br i1 {condition.text}, label %{label}.then, label %{label}.else")
        sides: list[tuple[dict[Tensor, dict[int, Value]], str]] = []
        before = {buffer: dict(cells) for buffer, cells in self.values.loads.registers.items()}
        for name, side in (("then", node.then), ("else", node.otherwise)):
            w.start_block(f"{label}.{name}")
            self.values.loads.registers = {buffer: dict(cells) for buffer, cells in before.items()}
            w.push_scope()
            if side is not None:
                self._nested(side)
            w.pop_scope()
            sides.append((self.values.loads.registers, w.block))
            w.line(f"br label %{label}.end")
        w.start_block(f"{label}.end")
        self.values.loads.registers = self.carried.merged(before, sides)
        self._bump(node)

    def _while(self, node: While) -> None:
        w = self.writer
        self.values.loads.pending.flush()
        label = w.fresh("while").removeprefix("%")
        w.line(f"br label %{label}")
        w.start_block(label)
        self._bump(node)
        w.push_scope()
        condition = self.values.evaluate(node.condition)
        w.line(f"br i1 {condition.text}, label %{label}.body, label %{label}.end")
        w.start_block(f"{label}.body")
        self._nested(node.body)
        w.pop_scope()
        w.line(f"br label %{label}")
        w.start_block(f"{label}.end")
        self._bump(node)

    def _allocate(self, buffer: Buffer) -> None:
        if buffer.scope is Scope.REGISTER:
            self.values.loads.registers[buffer] = {}
            return
        if buffer in self.values.loads.pointers:  # the caller gives it
            return
        count = 1
        for extent in buffer.shape:
            count *= extent
        if is_symbolic(count):
            raise UndecidedSizeError(f"The local buffer {buffer.name} has the open size {count}.")
        name = self.writer.fresh("local")
        hoisted = self.writer.levels[0].hoisted
        kind = memory_type(buffer.dtype)
        hoisted.insert(0, f"  {name} = alloca [{max(count, 1)} x {kind}], align 64")
        self.values.loads.pointers[buffer] = name
