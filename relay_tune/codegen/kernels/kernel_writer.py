"""Loop nests to LLVM IR: one function for each kernel.

    void kernel(ptr buffer, ..., i64 thread, i64 threads)

Every thread calls the kernel; a PARALLEL loop gives each its share, everything else outside of
parallel loops runs on thread 0. Register buffers become values that loops carry in phi nodes.
"""

from __future__ import annotations

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.statement_writer import StatementWriter
from relay_tune.codegen.kernels.streamed_stores import StreamedStores
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.machine.architecture import DotProduct, Lookup, Streaming
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.tensor.loops import Allocate, Block, Kernel, Statement
from relay_tune.tensor.matrix_registers import MatrixRegisters
from relay_tune.tensor.touched import has_parallel_loop


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The IR text of a function and the declarations that it needs."""

    text: str
    declarations: frozenset[str]


@remembered(512, is_code=True)
def write_kernel(
    kernel: Kernel,
    scales_powers: bool = False,
    rounds_bfloats: bool = False,
    intrinsics: tuple[Intrinsic, ...] = (),
    dot_products: tuple[DotProduct, ...] = (),
    lookups: tuple[Lookup, ...] = (),
    streaming: Streaming | None = None,
) -> FunctionText:
    """The LLVM function of a kernel.

    `scales_powers` and `rounds_bfloats` say that the machine has the instructions of the properties
    of `Target` with these names; `intrinsics`, `dot_products` and `lookups` are those that it has,
    `streaming` how it fills large results.
    """
    sizes = {name: f"%n{n}" for n, name in enumerate(kernel.sizes)}
    writer = FunctionWriter(
        sizes,
        scales_powers=scales_powers,
        rounds_bfloats=rounds_bfloats,
        dot_products=dot_products,
        lookups=lookups,
        streaming=streaming,
    )
    written = KernelWriter(kernel, writer, intrinsics)
    try:
        return written.write()
    finally:
        written.end()


class KernelWriter:
    """Writes the function of one kernel."""

    def __init__(
        self,
        kernel: Kernel,
        writer: FunctionWriter,
        intrinsics: tuple[Intrinsic, ...],
    ) -> None:
        self.kernel = kernel
        self.writer = writer
        pointers = {tensor: f"%arg{n}" for n, tensor in enumerate(kernel.parameters)}
        self.statements = StatementWriter(ValueWriter(self.writer, pointers), intrinsics)

    def write(self) -> FunctionText:
        """The whole function."""
        parameters = ", ".join(
            f"ptr {'' if n in self.kernel.shared else 'noalias '}align 4 %arg{n}"
            for n in range(len(self.kernel.arguments))
        )
        sizes = "".join(f", i64 {name}" for name in self.writer.size_symbols.values())
        comma = ", " if parameters else ""
        head = (
            f"define void @{self.kernel.name}({parameters}{sizes}{comma}i64 %thread, i64 %threads) "
            f"nounwind {{\nentry:"
        )
        self._on_thread_zero(self.kernel.body)
        StreamedStores(self.writer).end()
        self.writer.line("ret void")
        text = f"{head}\n{self.writer.text()}\n}}\n"
        return FunctionText(text, frozenset(self.writer.declarations))

    def end(self) -> None:
        """Let go of all that was written: these writers know each other, a circle of megabytes."""
        self.statements.values.end()
        self.statements.end()
        self.writer.end()

    def _on_thread_zero(self, body: Statement) -> None:
        """Write `body`; parts without a parallel loop are left to thread 0."""
        match body:
            case Block():
                for statement in body.statements:
                    self._on_thread_zero(statement)
            case Allocate() if has_parallel_loop(body):
                self.statements.allocate(body.buffer)
                self._on_thread_zero(body.body)
            case MatrixRegisters() if has_parallel_loop(body):
                self.statements.matrices.begin(body)
                self._on_thread_zero(body.body)
                self.statements.matrices.end()
            case _ if has_parallel_loop(body):
                self.statements.write(body)
            case _:
                w = self.writer
                first = w.pure("icmp eq i64 %thread, 0")
                for _ in w.sides(first, "serial", "run"):
                    self.statements.write(body)
