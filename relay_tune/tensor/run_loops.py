"""Runs a loop nest statement by statement: slow, and the oracle of generated code.

Parallel, vector and unrolled loops run one iteration after the other; prefetching does nothing.
"""

from __future__ import annotations

import numpy as np

from relay_tune.machine.pattern import TilePattern
from relay_tune.tensor.expression import Axis, Scalar, Tensor
from relay_tune.tensor.loops import Allocate, Block, Branch, Let, Loop, Statement, Store, While
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.scalar_semantics import Array, numpy_dtype
from relay_tune.tensor.scalar_value import scalar_value


def run_loops(statement: Statement, buffers: dict[Tensor, Array]) -> None:
    """Run `statement` on the arrays of its buffers, which it writes to.

    Raises IndexError where it reads or writes outside of a buffer.
    """
    _Machine(dict(buffers)).run(statement)


class _Machine:
    """The state of a run: the current value of each loop axis, the content of each buffer."""

    _pattern: TilePattern
    _held: MatrixRegisters

    def __init__(self, buffers: dict[Tensor, Array]) -> None:
        self._buffers = buffers
        self._axes: dict[Axis, Array] = {}
        self._registers: dict[int, Array] = {}

    def run(self, statement: Statement) -> None:
        """Run a statement; nests are shallow, so this may recurse."""
        match statement:
            case Block():
                for part in statement.statements:
                    self.run(part)
            case Loop():
                self._run_loop(statement)
            case Let():
                self._axes[statement.axis] = self._value(statement.value)
                self.run(statement.body)
            case Store():
                self._store(statement)
            case Branch():
                taken = statement.then if self._value(statement.condition) else statement.otherwise
                if taken is not None:
                    self.run(taken)
            case While():
                while self._value(statement.condition):
                    self.run(statement.body)
            case Allocate():
                buffer = statement.buffer
                self._buffers[buffer] = np.zeros(buffer.shape, numpy_dtype(buffer.dtype))
                self.run(statement.body)
            case MatrixRegisters():
                around = getattr(self, "_held", statement)
                self._pattern, self._held = statement.pattern, statement
                self.run(statement.body)
                self._pattern, self._held = around.pattern, around
            case MatrixClear():
                shape = self._held.rows[statement.register], self._pattern.columns
                dtype = numpy_dtype(self._pattern.result)
                self._registers[statement.register] = np.zeros(shape, dtype)
            case MatrixLoad():
                positions = self._row_offsets(statement)
                self._registers[statement.register] = self._flat(statement)[positions]
            case MatrixStore():
                self._flat(statement)[self._row_offsets(statement)] = self._registers[
                    statement.register
                ]
            case MatrixMultiply():
                self._multiply(statement)

    def _flat(self, node: MatrixLoad | MatrixStore) -> Array:
        return self._buffers[node.buffer].reshape(-1)

    def _row_offsets(self, node: MatrixLoad | MatrixStore) -> Array:
        """The flat offsets of a register's elements, (rows, elements of a row)."""
        array = self._buffers[node.buffer]
        use = "written" if isinstance(node, MatrixStore) else "read"
        side = node.side if isinstance(node, MatrixLoad) else None
        width = self._held.length(node.register, side)
        start = int(np.ravel_multi_index(self._position(node, use), array.shape))
        rows = np.arange(self._held.rows[node.register])[:, None] * node.stride
        found: Array = start + rows + np.arange(width)
        if found.min() < 0 or found.max() >= array.size:
            raise IndexError(
                f"{node.buffer.name} is {use} in rows from {found.min()} to {found.max()}, but has "
                f"{array.size} elements"
            )
        return found

    def _multiply(self, node: MatrixMultiply) -> None:
        pattern = self._pattern
        dtype = numpy_dtype(pattern.result)
        left, right = (self._registers[n].astype(dtype) for n in (node.left, node.right))
        groups = right.reshape(-1, pattern.columns, pattern.group).transpose(0, 2, 1)
        product = left @ groups.reshape(-1, pattern.columns)
        self._registers[node.into] = self._registers[node.into] + product

    def _run_loop(self, loop: Loop) -> None:
        begin, end = self._value(loop.begin), self._value(loop.end)
        if loop.share is not None:
            self._axes.update(zip(loop.share, (begin, end), strict=True))
        for value in range(int(begin), int(end)):
            self._axes[loop.axis] = np.asarray(value, np.int64)
            self.run(loop.body)

    def _store(self, store: Store) -> None:
        self._buffers[store.buffer][self._position(store, "written")] = self._value(store.value)

    def _position(self, node: Store | MatrixLoad | MatrixStore, use: str) -> tuple[int, ...]:
        """Where a statement begins in its buffer. Raises IndexError if that is outside."""
        position = tuple(int(self._value(index)) for index in node.indices)
        shape = self._buffers[node.buffer].shape
        for dimension, (index, size) in enumerate(zip(position, shape, strict=True)):
            if not 0 <= index < size:
                raise IndexError(
                    f"{node.buffer.name} is {use} at {index}, outside of dimension "
                    f"{dimension} of size {size}"
                )
        return position

    def _value(self, scalar: Scalar) -> Array:
        return scalar_value(scalar, self._axes, self._buffers)
