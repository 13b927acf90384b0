"""Stores and prefetches: into registers, whole vectors, masked tails, lanes that lie apart."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.kernels.stored_values import to_memory
from relay_tune.codegen.kernels.streamed_stores import StreamedStores
from relay_tune.codegen.kernels.strided_loads import Lanes
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.kernels.vector_lanes import LANE
from relay_tune.codegen.llvm_types import BYTES, intrinsic_suffix, memory_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.loops import Prefetch, Store
from relay_tune.tensor.size import is_symbolic


@dataclass(frozen=True, slots=True)
class StoreWriter:
    """Writes stores with the values of a ValueWriter."""

    values: ValueWriter

    @property
    def streamed(self) -> StreamedStores:
        """Stores past the caches."""
        return StreamedStores(self.values.writer)

    def store(self, node: Store) -> Tensor:
        """Write a store; gives the buffer that changed."""
        values = self.values
        value = values.evaluate(node.value)
        offset = values.indices.flat_offset(node.buffer, node.indices)
        if isinstance(offset, Affine) and offset.coefficient(LANE):
            value = values.lanes.spread(value)
        if node.buffer in values.loads.registers:
            assert isinstance(offset, Affine) and offset.without(LANE).is_constant
            values.loads.registers[node.buffer][offset.constant] = value
            return node.buffer
        arithmetic = values.lanes.arithmetic(value.dtype, value.lanes)
        text = to_memory(arithmetic, value.text, node.buffer.dtype)
        stored = Value(text, value.dtype, value.lanes)
        if not isinstance(offset, Value) and offset.coefficient(LANE) not in (0, 1):
            self._store_strided(node.buffer, offset, stored)
            return node.buffer
        values.loads.pending.flush(node.buffer)
        if isinstance(offset, Value):
            self._scatter(node.buffer, offset, stored)
        elif offset.coefficient(LANE) == 0:
            self._store_at(node.buffer, offset, memory_type(node.buffer.dtype), stored.text)
        else:
            self._store_vector(node, offset.without(LANE), stored)
        return node.buffer

    def prefetch(self, node: Prefetch) -> None:
        """Write a prefetch, of a vector the line of its first element."""
        offset = self.values.indices.flat_offset(node.buffer, node.indices)
        assert isinstance(offset, Affine)
        pointer = self._pointer(node.buffer, offset.without(LANE))
        purpose = 1 if node.for_write else 0
        level = 3 if node.for_write or node.near else 2
        writer = self.values.writer
        writer.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        writer.line(
            f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {purpose}, i32 {level}, i32 1)"
        )

    def _pointer(self, buffer: Tensor, offset: Affine) -> str:
        base = self.values.loads.pointers[buffer]
        return self.values.writer.address(base, offset, BYTES[buffer.dtype])

    def _store_at(self, buffer: Tensor, offset: Affine, kind: str, text: str) -> None:
        pointer = self._pointer(buffer, offset)
        align = BYTES[buffer.dtype]
        self.values.writer.line(f"store {kind} {text}, ptr {pointer}, align {align}")

    def _store_vector(self, node: Store, offset: Affine, value: Value) -> None:
        """A whole vector, or its active lanes under a mask."""
        buffer = node.buffer
        kind = memory_type(buffer.dtype, value.lanes)
        mask = self.values.lanes.mask()
        if mask is None and self.streamed.wanted(buffer, offset, node.value, value):
            base = self.values.loads.pointers[buffer]
            self.streamed.store(buffer, base, self._pointer(buffer, offset), value.text)
            return
        if mask is None:
            self._store_at(buffer, offset, kind, value.text)
            return
        pointer = self._pointer(buffer, offset)
        suffix = intrinsic_suffix(memory_type(buffer.dtype), value.lanes)
        name = f"llvm.masked.store.{suffix}.p0"
        mask_type = f"<{value.lanes} x i1>"
        writer = self.values.writer
        writer.declarations.add(f"declare void @{name}({kind}, ptr, i32, {mask_type})")
        writer.line(
            f"call void @{name}({kind} {value.text}, ptr {pointer}, i32 {BYTES[buffer.dtype]}, "
            f"{mask_type} {mask})"
        )

    def _store_strided(self, buffer: Tensor, offset: Affine, value: Value) -> None:
        """Lanes that lie apart; inside of a tile they wait for their neighbours."""
        vector, start, stride = (
            self.values.lanes.vector,
            offset.without(LANE),
            offset.coefficient(LANE),
        )
        if is_symbolic(vector.active):
            self.values.loads.pending.flush(buffer)
            self._scatter(buffer, self.values.indices.affine_value(offset), value)
            return
        shape = Lanes(vector.lanes, vector.active, stride)
        self.values.loads.pending.add(buffer, start, shape, value.text)
        if not self.values.loads.unrolled:
            self.values.loads.pending.flush(buffer)

    def _scatter(self, buffer: Tensor, offsets: Value, value: Value) -> None:
        """Lanes at computed offsets, stored one by one in order."""
        if is_symbolic(self.values.lanes.vector.active):
            self._masked_scatter(buffer, offsets, value)
            return
        for lane in range(self.values.lanes.vector.active):
            offset = self.values.writer.pure(
                f"extractelement {offsets.llvm_type} {offsets.text}, i64 {lane}"
            )
            text = self._lane(buffer, value, lane)
            self._store_at(buffer, Affine({offset: 1}), memory_type(buffer.dtype), text)

    def _masked_scatter(self, buffer: Tensor, offsets: Value, value: Value) -> None:
        """Those lanes that count, at computed offsets; of equal offsets the last one wins."""
        values, lanes = self.values, value.lanes
        mask = values.lanes.mask() or "splat (i1 true)"
        suffix = f"{intrinsic_suffix(memory_type(buffer.dtype), lanes)}.v{lanes}p0"
        kind = memory_type(buffer.dtype, lanes)
        arithmetic = values.lanes.arithmetic(offsets.dtype, lanes)
        scaled = arithmetic.binary("mul", offsets.text, arithmetic.number(BYTES[buffer.dtype]))
        pointers = values.writer.pure(
            f"getelementptr i8, ptr {values.loads.pointers[buffer]}, <{lanes} x i64> {scaled}"
        )
        name = f"llvm.masked.scatter.{suffix}"
        values.writer.declarations.add(
            f"declare void @{name}({kind}, <{lanes} x ptr>, i32, <{lanes} x i1>)"
        )
        values.writer.line(
            f"call void @{name}({kind} {value.text}, <{lanes} x ptr> {pointers}, "
            f"i32 {BYTES[buffer.dtype]}, <{lanes} x i1> {mask})"
        )

    def _lane(self, buffer: Tensor, value: Value, lane: int) -> str:
        kind = memory_type(buffer.dtype, value.lanes)
        return self.values.writer.pure(f"extractelement {kind} {value.text}, i64 {lane}")
