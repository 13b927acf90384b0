"""Constants stored past the caches: large fills that need not read the lines that they replace."""

from __future__ import annotations

import math

from relay_tune.codegen.arithmetic import Value
from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.llvm_types import BYTES, memory_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Literal, Scalar, Tensor
from relay_tune.tensor.size import is_symbolic

LINE = 64
"""Bytes of a line of the caches: what one vector has to fill."""

PIECE = 16
"""Bytes of one store, which lie at a multiple of them: so does all memory from malloc and numpy.

The processor collects the pieces of a line.
"""

METADATA = "!1000"


@dataclass(frozen=True, slots=True)
class StreamedStores:
    """Writes stores past the caches with a function's writer."""

    writer: FunctionWriter

    def wanted(self, buffer: Tensor, offset: Affine, expression: Scalar, value: Value) -> bool:
        """Whether a whole vector of a constant fills a line of a buffer that is large enough."""
        streaming = self.writer.streaming
        return (
            streaming is not None
            and isinstance(expression, Literal)
            and value.lanes * BYTES[buffer.dtype] == LINE
            and not any(is_symbolic(size) for size in buffer.shape)
            and math.prod(buffer.shape) * BYTES[buffer.dtype] > streaming.bytes
            and not any(n * BYTES[buffer.dtype] % PIECE for n in _multiples(offset))
        )

    def store(self, buffer: Tensor, base: str, pointer: str, value: str) -> None:
        """Past the caches where the buffer lies at a multiple of a piece, else as usual."""
        writer, streaming = self.writer, self.writer.streaming
        assert streaming is not None
        writer.declarations |= {streaming.declaration, f"{METADATA} = !{{i32 1}}"}
        bits = writer.pure(f"ptrtoint ptr {base} to i64")
        odd = writer.pure(f"and i64 {bits}, {PIECE - 1}")
        aligned = writer.pure(f"icmp eq i64 {odd}, 0")
        size = BYTES[buffer.dtype]
        whole = memory_type(buffer.dtype, LINE // size)
        for side in writer.sides(aligned, "fill", "past", "usual"):
            if side == "past":
                self._store_past(buffer.dtype, pointer, value)
            else:
                writer.line(f"store {whole} {value}, ptr {pointer}, align {size}")

    def _store_past(self, dtype: str, pointer: str, value: str) -> None:
        """Past the caches, in pieces."""
        writer, size = self.writer, BYTES[dtype]
        lanes, part = LINE // size, PIECE // size
        whole, kind = memory_type(dtype, lanes), memory_type(dtype, part)
        for start in range(0, lanes, part):
            numbers = ", ".join(f"i32 {start + n}" for n in range(part))
            piece = writer.pure(
                f"shufflevector {whole} {value}, {whole} poison, <{part} x i32> <{numbers}>"
            )
            address = writer.pure(f"getelementptr i8, ptr {pointer}, i64 {start * size}")
            writer.line(
                f"store {kind} {piece}, ptr {address}, align {PIECE}, !nontemporal {METADATA}"
            )

    def end(self) -> None:
        """Have other threads see them: before the kernel ends."""
        streaming = self.writer.streaming
        if streaming is not None and streaming.declaration in self.writer.declarations:
            self.writer.line(streaming.fence)


def _multiples(offset: Affine) -> tuple[int, ...]:
    return (*offset.terms.values(), offset.constant)
