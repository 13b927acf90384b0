"""Stores of lanes that lie apart, held back until their neighbours in memory are known.

A register tile often stores vectors along an axis that is not the innermost one of its tensor,
while the points beside each other in memory are other vectors of the tile:

    y[0 * 56 + lane * 3136] = a            for each of 16 lanes: y[lane * 3136 + 0 .. 2] = (a, b)
    y[1 * 56 + lane * 3136] = b

Held back, they become stores of whole rows, transposed in registers. Where one row ends as the next
begins, as of bfloat16 in pairs, they are one vector. Neighbours differ by a number,
wherever a row begins and however far apart lanes are: sizes known at run time only may be in both.
"""

from __future__ import annotations

from dataclasses import field

from relay_tune.codegen.function_writer import FunctionWriter
from relay_tune.codegen.kernels.strided_loads import Lanes
from relay_tune.codegen.kernels.transposing import joined, piece, shuffled, transposed
from relay_tune.codegen.llvm_types import BYTES, memory_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.lane_rows import pieces
from relay_tune.tensor.size import without_constant

MOST_IN_TURNS = 4
"""Vectors whose lanes follow each other by turns are one vector; more are transposed."""


@dataclass(slots=True)
class _Held:
    """The stores to one buffer that are held back and have a start in common.

    Attributes:
        start: what all offsets have in common.
        vectors: by shape and offset from the start.
        covered: the offsets of all elements.
    """

    start: Affine
    vectors: dict[Lanes, dict[int, str]] = field(default_factory=dict)
    covered: set[int] = field(default_factory=set)


class PendingStores:
    """Stores that are held back; values must stay defined until `flush`.

    Stores that differ by a symbolic size, such as rows of an image of open width, are held apart:
    the points of a tile are different elements whatever the size is.
    """

    def __init__(self, writer: FunctionWriter, pointers: dict[Tensor, str]) -> None:
        self._writer = writer
        self._pointers = pointers
        self._held: dict[Tensor, dict[int, _Held]] = {}

    def add(self, buffer: Tensor, offset: Affine, shape: Lanes, text: str) -> None:
        """Hold back a vector of stored elements; `offset` is that of its first lane."""
        start = offset.shift(without_constant(offset.constant) - offset.constant)
        position = offset.constant - start.constant
        elements = {position + shape.stride * lane for lane in range(shape.active)}
        if not self._is_beside(buffer, start, elements):
            self.flush(buffer)
        known = self._held.setdefault(buffer, {})
        held = known.setdefault(start.constant, _Held(start))
        held.covered |= elements
        vectors = held.vectors.setdefault(shape, {})
        vectors[position] = text
        row = range(position - shape.lanes + 1, position + 1)
        if all(each in vectors for each in row):
            self._write(buffer, held.start.shift(row[0]), shape, [vectors.pop(n) for n in row])

    def _is_beside(self, buffer: Tensor, start: Affine, elements: set[int]) -> bool:
        """Whether elements belong to the tile that is held back, and are not stored yet."""
        known = self._held.get(buffer, {})
        if any(held.start.terms != start.terms for held in known.values()):
            return False
        same = known.get(start.constant)
        return same is None or not same.covered & elements

    def flush(self, buffer: Tensor | None = None) -> None:
        """Write what is held back, for all buffers or one."""
        for each in list(self._held) if buffer is None else [buffer]:
            for held in self._held.pop(each, {}).values():
                self._write_all(each, held)

    def _write_all(self, buffer: Tensor, held: _Held) -> None:
        for shape, vectors in held.vectors.items():
            for begin, row in _rows(vectors):
                for first, size in pieces(len(row), shape.lanes):
                    start = held.start.shift(begin + first)
                    self._write(buffer, start, shape, row[first : first + size])

    def _write(self, buffer: Tensor, start: Affine, shape: Lanes, row: list[str]) -> None:
        """Store vectors whose first lanes lie beside each other from `start` on."""
        element, size = memory_type(buffer.dtype), len(row)
        if 1 < size == shape.stride <= MOST_IN_TURNS:
            self._write_at(buffer, start, size * shape.active, self._in_turns(element, shape, row))
            return
        turned = transposed(self._writer, element, shape.lanes, row)
        for lane in range(shape.active):
            group, vector = lane // size * size, turned[lane % size]
            if size == 1:
                text = self._writer.pure(
                    f"extractelement <{shape.lanes} x {element}> {vector}, i64 {lane}"
                )
            else:
                text = piece(self._writer, element, shape.lanes, vector, group, size)
            self._write_at(buffer, start.shift(lane * shape.stride), size, text)

    def _write_at(self, buffer: Tensor, offset: Affine, size: int, text: str) -> None:
        element, width = memory_type(buffer.dtype), BYTES[buffer.dtype]
        kind = element if size == 1 else f"<{size} x {element}>"
        pointer = self._writer.address(self._pointers[buffer], offset, width)
        self._writer.line(f"store {kind} {text}, ptr {pointer}, align {width}")

    def _in_turns(self, element: str, shape: Lanes, row: list[str]) -> str:
        """One vector with the first lanes of all vectors, then their second lanes, and so on."""
        whole = joined(self._writer, element, shape.lanes, row)
        lanes, vectors = range(shape.active), range(len(row))
        order = [vector * shape.lanes + lane for lane in lanes for vector in vectors]
        pair = (whole, "poison")
        return shuffled(self._writer, element, shape.lanes * len(row), pair, order)


def _rows(vectors: dict[int, str]) -> list[tuple[int, list[str]]]:
    """Vectors by offset as runs of neighbours, each with its first offset."""
    runs: list[tuple[int, list[str]]] = []
    for offset in sorted(vectors):
        if runs and offset == runs[-1][0] + len(runs[-1][1]):
            runs[-1][1].append(vectors[offset])
        else:
            runs.append((offset, [vectors[offset]]))
    return runs
