"""Statements on matrix registers as LLVM intrinsics of x86 (AMX).

Each thread describes the registers before it uses them and releases them afterwards, so that the
operating system need not save them. Linux wants a process to ask for them once; a library may run
where nobody else does, so each module's kernels do.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.matrix_description import matrix_description
from relay_tune.codegen.matrix_permission import ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)

PERMISSION = "matrix_permission"
"""Whether a module's kernels have asked for the registers."""


@dataclass(frozen=True, slots=True)
class MatrixWriter:
    """Writes such statements with the addresses of a ValueWriter."""

    values: ValueWriter

    def begin(self, node: MatrixRegisters) -> None:
        """Describe the registers."""
        self._ask()
        name = f"matrix_rows_{'_'.join(map(str, node.rows))}"
        writer = self.values.writer
        description = matrix_description(node.rows)
        writer.declarations.add(f"@{name} = private unnamed_addr constant {description}, align 64")
        self._instruction("ldtilecfg", f"ptr @{name}", "ptr")

    def end(self) -> None:
        """Release the registers."""
        self._instruction("tilerelease", "", "")

    def clear(self, node: MatrixClear) -> None:
        """Write zeros."""
        self._instruction("tilezero", f"i8 {node.register}", "i8 immarg")

    def load(self, node: MatrixLoad) -> None:
        """Write a load."""
        self._move("tileloadd64", node)

    def store(self, node: MatrixStore) -> None:
        """Write a store."""
        self._move("tilestored64", node)

    def multiply(self, node: MatrixMultiply) -> None:
        """Write a multiplication of bfloat16."""
        operands = ", ".join(f"i8 {n}" for n in (node.into, node.left, node.right))
        self._instruction("tdpbf16ps", operands, "i8 immarg, i8 immarg, i8 immarg")

    def _move(self, name: str, node: MatrixLoad | MatrixStore) -> None:
        values, element = self.values, BYTES[node.buffer.dtype]
        offset = values.indices.flat_offset(node.buffer, node.indices)
        assert isinstance(offset, Affine)
        pointer = values.writer.address(values.loads.pointers[node.buffer], offset, element)
        operands = f"i8 {node.register}, ptr {pointer}, i64 {node.stride * element}"
        self._instruction(name, operands, "i8 immarg, ptr, i64")

    def _instruction(self, name: str, operands: str, types: str) -> None:
        writer = self.values.writer
        writer.declarations.add(f"declare void @llvm.x86.{name}({types})")
        writer.line(f"call void @llvm.x86.{name}({operands})")

    def _ask(self) -> None:
        """Ask for the registers once; where that was refused, no such kernel is built or loaded."""
        writer = self.values.writer
        writer.declarations |= {
            f"@{PERMISSION} = internal global i8 0",
            "declare i64 @syscall(i64, ...)",
        }
        label = writer.fresh("matrix").removeprefix("%")
        known, missing = writer.fresh("known"), writer.fresh("missing")
        writer.line(f"{known} = load atomic i8, ptr @{PERMISSION} monotonic, align 1")
        writer.line(f"{missing} = icmp eq i8 {known}, 0")
        writer.line(f"br i1 {missing}, label %{label}.ask, label %{label}.granted")
        writer.start_block(f"{label}.ask")
        operands = ", ".join(f"i64 {n}" for n in (ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA))
        writer.line(f"{writer.fresh('answer')} = call i64 (i64, ...) @syscall({operands})")
        writer.line(f"store atomic i8 1, ptr @{PERMISSION} monotonic, align 1")
        writer.line(f"br label %{label}.granted")
        writer.start_block(f"{label}.granted")
