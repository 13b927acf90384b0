"""Statements: each kind by its writer, bodies by this one again."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.kernels.block_edges import BlockEdges
from relay_tune.codegen.kernels.branch_writer import BranchWriter
from relay_tune.codegen.kernels.carried_registers import CarriedRegisters
from relay_tune.codegen.kernels.let_writer import LetWriter
from relay_tune.codegen.kernels.loop_writer import LoopWriter
from relay_tune.codegen.kernels.matrix_writer import MatrixWriter
from relay_tune.codegen.kernels.store_writer import StoreWriter
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.llvm_types import memory_type
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Buffer,
    BufferScope,
    Let,
    Loop,
    Prefetch,
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
from relay_tune.tensor.size import UndecidedSizeError, is_symbolic


class StatementWriter:
    """Writes statements with the values of a ValueWriter."""

    def __init__(self, values: ValueWriter, intrinsics: Sequence[Intrinsic]) -> None:
        self.values = values
        self.stores = StoreWriter(values)
        self.matrices = MatrixWriter(values, intrinsics)
        self.edges = BlockEdges(values)
        carried = CarriedRegisters(values.writer, values.loads)
        self.loops = LoopWriter(values, carried, self.edges, self.write)
        self.lets = LetWriter(values, self.write)
        self.branches = BranchWriter(values, carried, self.edges, self.write)

    def end(self) -> None:
        """Let go of the writers, which know this one."""
        vars(self).clear()

    def write(self, node: Statement) -> None:
        """Write a statement."""
        match node:
            case Block():
                for statement in node.statements:
                    self.write(statement)
            case Loop():
                self.loops.loop(node)
            case Let():
                self.lets.let(node)
            case Store():
                self.edges.written(self.stores.store(node))
            case Prefetch():
                self.stores.prefetch(node)
            case Branch():
                self.branches.branch(node)
            case While():
                self.branches.repeat(node)
            case Allocate():
                self.allocate(node.buffer)
                self.write(node.body)
                self.values.loads.registers.pop(node.buffer, None)
            case MatrixRegisters():
                self.matrices.begin(node)
                self.write(node.body)
                self.matrices.end()
            case MatrixClear():
                self.matrices.clear(node)
            case MatrixLoad():
                self.matrices.load(node)
            case MatrixMultiply():
                self.matrices.multiply(node)
            case MatrixStore():
                self.matrices.store(node)
                self.edges.written(node.buffer)
            case _:
                raise TypeError(f"not a statement: {type(node).__name__}")

    def allocate(self, buffer: Buffer) -> None:
        """Make room for a local buffer, in registers or on the stack."""
        if buffer.scope is BufferScope.REGISTER:
            self.values.loads.registers[buffer] = {}
            return
        if buffer in self.values.loads.pointers:  # the caller gives it
            return
        count = 1
        for extent in buffer.shape:
            count *= extent
        if is_symbolic(count):
            raise UndecidedSizeError(f"The local buffer {buffer.name} has the open size {count}.")
        name = self.values.writer.fresh("local")
        hoisted = self.values.writer.levels[0].hoisted
        kind = memory_type(buffer.dtype)
        hoisted.insert(0, f"  {name} = alloca [{max(count, 1)} x {kind}], align 64")
        self.values.loads.pointers[buffer] = name
