"""Loops: written out, as lanes of vectors, counted, or shared by threads."""

from __future__ import annotations

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.function_writer import Lines
from relay_tune.codegen.kernels.block_edges import BlockEdges, Write
from relay_tune.codegen.kernels.carried_registers import CarriedRegisters
from relay_tune.codegen.kernels.value_writer import ValueWriter
from relay_tune.codegen.kernels.vector_lanes import LANE, VectorContext
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import Affine, constant
from relay_tune.tensor.expression import Axis, Literal, Scalar
from relay_tune.tensor.loops import Loop, LoopKind
from relay_tune.tensor.size import is_integer, is_symbolic, surely_less

NO_LOADS_ACROSS = 'fence syncscope("singlethread") acq_rel'
"""Keeps the compiler from loading early what follows; the processor does not see it."""


@dataclass(frozen=True, slots=True)
class LoopWriter:
    """Writes loops, their bodies with `write`."""

    values: ValueWriter
    carried: CarriedRegisters
    edges: BlockEdges
    write: Write

    def loop(self, loop: Loop) -> None:
        """Write a loop of any kind."""
        begin, end = _literal(loop.begin), _literal(loop.end)
        match loop.kind:
            case LoopKind.UNROLLED | LoopKind.IN_ORDER:
                assert begin is not None and end is not None
                self._unrolled(loop, begin, end)
            case LoopKind.VECTOR:
                assert begin is not None and end is not None
                self._vector(loop, begin, end)
            case _ if begin is not None and end == begin + 1 and loop.kind is LoopKind.SERIAL:
                self.values.indices.environment[loop.axis] = constant(begin)
                self.write(loop.body)
            case _ if begin is not None and end is not None and surely_less(end, begin + 1):
                return
            case _:
                self._counted(loop, begin, end)

    def _unrolled(self, loop: Loop, begin: int, end: int) -> None:
        """The body for each position; strided stores wait for the end of all such loops."""
        for position in range(begin, end):
            self.values.loads.unrolled[loop.axis] = (position - begin, end - 1 - position)
            self.values.indices.environment[loop.axis] = constant(position)
            self.write(loop.body)
            if loop.kind is LoopKind.IN_ORDER and position + 1 < end:
                self.values.writer.line(NO_LOADS_ACROSS)
        self.values.loads.unrolled.pop(loop.axis, None)
        if not self.values.loads.unrolled:
            self.values.loads.pending.flush()

    def _vector(self, loop: Loop, begin: int, end: int) -> None:
        active = end - begin
        most = loop.axis.extent if is_symbolic(active) else active
        lanes = 1 << max(most - 1, 0).bit_length()
        outer = self.values.lanes.vector
        self.values.lanes.vector = VectorContext(lanes, active if lanes > 1 else 1)
        self.values.indices.environment[loop.axis] = Affine({LANE: 1}, begin)
        self.write(loop.body)
        self.values.lanes.vector = outer

    def _counted(self, loop: Loop, begin: int | None, end: int | None) -> None:
        w = self.values.writer
        low = w.size(begin) if begin is not None else self._bound(loop.begin)
        high = w.size(end) if end is not None else self._bound(loop.end)
        if loop.kind is LoopKind.PARALLEL:
            low, high = self._share(low, high)
        if loop.share is not None:
            self._bind_share(loop.share, low, high)
        self.values.loads.pending.flush()
        label = w.label("loop")
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
        self.edges.crossed(loop.body)
        with w.level():
            least = begin if begin is not None else 0
            most = end - 1 if end is not None else (1 << 40)
            w.bind(index, least, most)
            self.values.indices.environment[loop.axis] = Affine({index: 1})
            self.edges.nested(loop.body, self.write)
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
        self.edges.crossed(loop.body)

    def _bind_share(self, share: tuple[Axis, Axis], low: str, high: str) -> None:
        """Let axes stand for the ends of what this thread runs."""
        for axis, bound in zip(share, (low, high), strict=True):
            self.values.writer.bind(bound, 0, axis.extent - 1)
            self.values.indices.environment[axis] = Affine({bound: 1})

    def _bound(self, bound: Scalar) -> str:
        return self.values.evaluate(bound).text

    def _share(self, low: str, high: str) -> tuple[str, str]:
        """This thread's part of a range: as even as whole iterations allow."""
        a = Arithmetic(self.values.writer, "int64", 0)
        count = a.binary("sub", high, low)
        first = a.binary("udiv", a.binary("mul", count, "%thread"), "%threads")
        after = a.binary("add", "%thread", "1")
        last = a.binary("udiv", a.binary("mul", count, after), "%threads")
        return a.binary("add", low, first), a.binary("add", low, last)


def _literal(bound: Scalar) -> int | None:
    if not isinstance(bound, Literal) or not is_integer(bound.value):
        return None
    return bound.value
