"""Loads: out of registers, whole vectors, masked tails, lanes that lie apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field
from math import prod

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.byte_lookups import looked_up
from relay_tune.codegen.kernels.index_writer import IndexWriter
from relay_tune.codegen.kernels.pending_stores import PendingStores
from relay_tune.codegen.kernels.repeated_lanes import RepeatedLanes
from relay_tune.codegen.kernels.stored_values import from_memory
from relay_tune.codegen.kernels.strided_loads import Lanes, StridedLoads
from relay_tune.codegen.kernels.transposing import shuffled
from relay_tune.codegen.kernels.vector_lanes import LANE, VectorLanes
from relay_tune.codegen.llvm_types import BYTES, intrinsic_suffix, memory_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.byte_lookup import TABLE_SIZE, looked_up_byte
from relay_tune.tensor.expression import INDEX, Axis, Load, Tensor, Word
from relay_tune.tensor.lane_rows import pieces
from relay_tune.tensor.size import is_symbolic, surely_less, without_constant


@dataclass(slots=True)
class LoadWriter:
    """Writes loads; statements tell it what was stored.

    Attributes:
        lanes: the vector loop around.
        indices: where loads find their offsets.
        pointers: the base address of each buffer.
        registers: the cells of register buffers: buffer -> offset -> value.
        versions: how often each buffer was written; a load is shared only within a version.
        unrolled: the axes that the unrolled loops around, in this block, step through by ones:
            axis -> how many steps come before and after.
        writer: where instructions go.
        pending: stores that are held back.
    """

    lanes: VectorLanes
    indices: IndexWriter
    pointers: dict[Tensor, str]
    registers: dict[Tensor, dict[int, Value]] = field(default_factory=dict)
    versions: dict[Tensor, int] = field(default_factory=dict)
    unrolled: dict[Axis, tuple[int, int]] = field(default_factory=dict)
    writer: FunctionWriter = field(init=False)
    pending: PendingStores = field(init=False)
    _strided: StridedLoads = field(init=False)

    def __post_init__(self) -> None:
        self.writer = self.lanes.writer
        self.pending = PendingStores(self.writer, self.pointers)
        self._strided = StridedLoads(self.writer, self._stored, self._value)

    def end(self) -> None:
        """Let go of the writer of strided loads, which knows this one."""
        del self._strided

    def load(self, load: Load) -> Value:
        tensor = load.tensor
        if tensor in self.registers:
            return self._register(tensor, self.indices.flat_offset(tensor, load.indices))
        self.pending.flush(tensor)
        looked_up = self._looked_up(load)
        if looked_up is not None:
            return looked_up
        repeated = self.indices.repeated(tensor, load.indices)
        if repeated is not None:
            return self._load_repeated(tensor, *repeated)
        offset = self.indices.flat_offset(tensor, load.indices)
        if isinstance(offset, Value):
            return self._gather(tensor, offset)
        lane = offset.coefficient(LANE)
        if lane == 0 and (self.lanes.vector.mask is None or self._is_inside(tensor, offset)):
            return self._load_contiguous(tensor, offset, 0)
        if lane == 0:  # the mask may be false everywhere
            return self._gather(tensor, self.lanes.spread(self.indices.affine_value(offset)))
        if lane == 1:
            return self._load_vector(tensor, offset.without(LANE))
        return self._load_strided(load, offset.without(LANE), lane)

    def load_word(self, word: Word) -> Value | None:
        """A word of elements that lie side by side, one for all lanes; None if it is no such."""
        first = word.elements[0]
        if not isinstance(first, Load) or first.tensor in self.registers:
            return None
        tensor, offsets = first.tensor, list(self._offsets(word, first.tensor))
        begin = offsets[0] if offsets else None
        if begin is None or begin.coefficient(LANE) or len(offsets) < len(word.elements):
            return None
        if any(offset != begin.shift(n) for n, offset in enumerate(offsets)):
            return None
        ends = (begin, begin.shift(len(offsets) - 1))
        if self.lanes.vector.mask is not None and not all(self._is_inside(tensor, e) for e in ends):
            return None
        self.pending.flush(tensor)
        pointer = self.writer.address(self.pointers[tensor], begin, BYTES[tensor.dtype])
        kind = memory_type(word.dtype)
        loaded = self._loaded(tensor, f"load {kind}, ptr {pointer}, align {BYTES[tensor.dtype]}")
        return Value(loaded, word.dtype)

    def _offsets(self, word: Word, tensor: Tensor) -> Iterator[Affine]:
        """Where those elements of a word are that are in a tensor."""
        for element in word.elements:
            if isinstance(element, Load) and element.tensor is tensor:
                offset = self.indices.flat_offset(tensor, element.indices)
                if isinstance(offset, Affine):
                    yield offset

    def _looked_up(self, load: Load) -> Value | None:
        """Bytes of a table that registers hold, where the target has such instructions."""
        known, index = self.writer.lookups.get("int8"), looked_up_byte(load)
        if known is None or index is None or not self.lanes.vector.lanes:
            return None
        byte = self.indices.evaluate(index)
        if not byte.lanes:
            return None
        begins = range(0, TABLE_SIZE, known.lanes)
        table = [self._stored(load.tensor, Affine({}, n), known.lanes) for n in begins]
        a = self.lanes.arithmetic(load.dtype, byte.lanes)
        return Value(looked_up(a, known, table, byte.text), load.dtype, byte.lanes)

    def _is_inside(self, tensor: Tensor, offset: Affine) -> bool:
        """Whether an access is inside its tensor whatever the loop variables are."""
        low, high = offset.bounds(self.indices.extent)
        return surely_less(-1, low) and surely_less(high, prod(tensor.shape))

    def _register(self, tensor: Tensor, offset: Affine | Value) -> Value:
        assert isinstance(offset, Affine) and offset.without(LANE).is_constant
        return self.registers[tensor][offset.constant]

    def _load_vector(self, tensor: Tensor, offset: Affine) -> Value:
        lanes = self.lanes.vector.lanes
        mask = self.lanes.mask()
        if mask is None:
            return self._load_contiguous(tensor, offset, lanes)
        return self._load_masked(tensor, offset, mask)

    def _load_masked(self, tensor: Tensor, offset: Affine, mask: str) -> Value:
        stored = self._stored_masked(tensor, offset, mask)
        return self._value(tensor, stored, self.lanes.vector.lanes)

    def _stored_masked(self, tensor: Tensor, offset: Affine, mask: str) -> str:
        """Stored elements from an offset on where the mask is true, elsewhere 0."""
        lanes = self.lanes.vector.lanes
        pointer = self.writer.address(self.pointers[tensor], offset, BYTES[tensor.dtype])
        kind = memory_type(tensor.dtype, lanes)
        name = f"llvm.masked.load.{intrinsic_suffix(memory_type(tensor.dtype), lanes)}.p0"
        self.writer.declarations.add(f"declare {kind} @{name}(ptr, i32, <{lanes} x i1>, {kind})")
        return self._loaded(
            tensor,
            f"call {kind} @{name}(ptr {pointer}, i32 {BYTES[tensor.dtype]}, "
            f"<{lanes} x i1> {mask}, {kind} zeroinitializer)",
        )

    def _load_repeated(self, tensor: Tensor, offset: Affine, shape: RepeatedLanes) -> Value:
        """Elements from an offset on, each of which several lanes share, out of a whole vector."""
        # Rows of open length lie a size apart: what is added to it is shared by neighbours.
        first = (offset.constant - without_constant(offset.constant)) % shape.factor
        begin = offset.shift(-first)
        if all(self._is_inside(tensor, begin.shift(n)) for n in (0, shape.lanes - 1)):
            found = self._stored(tensor, begin, shape.lanes)
        else:
            first = 0
            found = self._stored_masked(tensor, offset, self.lanes.first_lanes(shape.reach))
        pair, order = (found, "poison"), shape.order(first)
        text = shuffled(self.writer, memory_type(tensor.dtype), shape.lanes, pair, order)
        return self._value(tensor, text, shape.lanes)

    def _load_strided(self, load: Load, offset: Affine, stride: int) -> Value:
        """Lanes that are `stride` elements apart."""
        tensor, vector = load.tensor, self.lanes.vector
        shape = Lanes(vector.lanes, vector.active, stride)
        if vector.mask is not None or is_symbolic(vector.active):
            return self._gather(tensor, self.indices.affine_value(offset + Affine({LANE: stride})))
        row = None
        if not (is_symbolic(stride) or is_symbolic(offset.constant)):
            if shape.can_skip:
                return self._strided.skipping(tensor, offset, shape)
            row = self._row_around(load, offset + Affine({LANE: stride}))
        if row is None:
            return self.writer.once(
                (*self._contents(tensor, offset), shape),
                lambda: self._strided.one_by_one(tensor, offset, shape),
            )
        column, size = row
        start = offset.shift(-column)
        columns = self.writer.once(
            (*self._contents(tensor, start), shape, size),
            lambda: self._strided.columns(tensor, start, shape, size),
        )
        return self._value(tensor, columns[column], shape.lanes)

    def _row_around(self, load: Load, offset: Affine) -> tuple[int, int] | None:
        """(column, size) of a load in the row of neighbours that the unrolled loops load, too."""
        form = self.indices.form(load.tensor, load.indices)
        for axis, (before, after) in self.unrolled.items():
            if form is None or form.coefficient(axis) != 1:
                continue
            row = pieces(before + 1 + after, self.lanes.vector.lanes)
            begin, size = next(part for part in row if before < sum(part))
            column = before - begin
            ends = (offset.shift(-column), offset.shift(size - 1 - column))
            if size > 1 and all(self._is_inside(load.tensor, end) for end in ends):
                return column, size
        return None

    def _load_contiguous(self, tensor: Tensor, offset: Affine, lanes: int) -> Value:
        return self.writer.once(
            (*self._contents(tensor, offset), lanes),
            lambda: self._value(tensor, self._stored(tensor, offset, lanes), lanes),
        )

    def _contents(self, tensor: Tensor, offset: Affine) -> tuple[Hashable, ...]:
        """What loads from an offset on depend on: the offset, and what is there at present."""
        version = self.versions.get(tensor, 0)
        return tensor, version, offset.constant, tuple(offset.terms.items())

    def _stored(self, tensor: Tensor, offset: Affine, lanes: int) -> str:
        """Stored elements from an offset on; 0 of them are a scalar."""
        pointer = self.writer.address(self.pointers[tensor], offset, BYTES[tensor.dtype])
        kind = memory_type(tensor.dtype, lanes)
        instruction = f"load {kind}, ptr {pointer}, align {BYTES[tensor.dtype]}"
        return self._loaded(tensor, instruction)

    def _gather(self, tensor: Tensor, offsets: Value) -> Value:
        lanes = self.lanes.vector.lanes
        kind = memory_type(tensor.dtype, lanes)
        size = BYTES[tensor.dtype]
        a = self.lanes.arithmetic(INDEX, lanes)
        scaled = a.binary("mul", self.lanes.spread(offsets).text, a.number(size))
        pointers = self.writer.pure(
            f"getelementptr i8, ptr {self.pointers[tensor]}, <{lanes} x i64> {scaled}"
        )
        mask = self.lanes.mask() or "splat (i1 true)"
        suffix = f"{intrinsic_suffix(memory_type(tensor.dtype), lanes)}.v{lanes}p0"
        name = f"llvm.masked.gather.{suffix}"
        self.writer.declarations.add(
            f"declare {kind} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})"
        )
        stored = self._loaded(
            tensor,
            f"call {kind} @{name}(<{lanes} x ptr> {pointers}, i32 {size}, "
            f"<{lanes} x i1> {mask}, {kind} zeroinitializer)",
        )
        return self._value(tensor, stored, lanes)

    def _loaded(self, tensor: Tensor, instruction: str) -> str:
        """Stored elements that an instruction loads from the present contents of a tensor."""
        return self.writer.pure(instruction, (tensor, self.versions.get(tensor, 0)))

    def _value(self, tensor: Tensor, text: str, lanes: int) -> Value:
        """The value of stored elements of a tensor; 0 lanes are a scalar."""
        arithmetic = self.lanes.arithmetic(tensor.dtype, lanes)
        return Value(from_memory(arithmetic, text, tensor.dtype), tensor.dtype, lanes)
