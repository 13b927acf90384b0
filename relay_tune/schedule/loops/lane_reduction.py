"""Reductions along the vector lanes: each element as vectors of partial results.

    partial[point, way, lane] = neutral element           `ways` independent vectors for each point
    for blocks of ways * lanes elements: partial = combine(partial, body)
    partial = combine(partial, the elements that fill no block), the last vector under a mask
    total[point] = combine(all of partial[point])

This is for axes that only the reduction runs along, such as the row of a softmax. The points are
those of a register tile: rows that are reduced at the same time. The lanes of several rows are
combined together, which takes fewer shuffles, and the rows are then the lanes of one vector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.loop_shapes import loop_over, over_lanes
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Scalar,
    binary,
    literal,
    neutral_element,
    select,
)
from relay_tune.tensor.loops import Allocate, Block, Buffer, BufferScope, LoopKind, Statement, Store
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.tensor.walk import substitute

STEPS = {"sum": "add", "prod": "mul", "max": "max", "fmax": "fmax", "min": "min"}
"""The binary operation of each reduction."""


MOST_STEPS = 8
"""Vectors of a row that is short: the rows of a tile follow each other instead of their steps."""


def has_short_rows(reduction: Sequence[Axis], choice: TileChoice) -> bool:
    """Whether a nest reduces rows of a few whole vectors along the lanes."""
    if choice.vector != -2 or len(reduction) != 1 or is_symbolic(reduction[0].extent):
        return False
    blocks, rest = divmod(reduction[0].extent, choice.lanes * choice.unroll)
    return not rest and 1 < blocks <= MOST_STEPS


def combine(operation: str, accumulated: Scalar, value: Scalar) -> Scalar:
    """One step of a reduction."""
    return binary(STEPS[operation], accumulated, value)


Cell = tuple[Scalar, ...]
AtPoint = Callable[[Mapping[Axis, Scalar], Cell], Statement]


@dataclass(frozen=True, slots=True)
class LaneReduction:
    """A reduction whose innermost axis runs along the lanes, for the points of a register tile.

    Attributes:
        operation: what combines two values.
        body: what is reduced.
        axes: the reduction axes, outermost first; the last one runs along the lanes.
        lanes: elements of a vector.
        ways: independent vectors for each point.
        shape: of the tile.
        is_row_by_row: whether all of a point comes before the next one (`has_short_rows`).
        over_points: writes a statement for each point, given what the axes are there and its cell.
    """

    operation: str
    body: Scalar
    axes: tuple[Axis, ...]
    lanes: int
    ways: int
    shape: tuple[int, ...]
    is_row_by_row: bool
    over_points: Callable[[AtPoint], Statement]

    def statement(self, finish: Callable[[Buffer], Statement]) -> Statement:
        """The reduction; `finish` is given the partial results."""
        partial = Buffer(
            name="partial",
            shape=(*self.shape, self.ways, self.lanes),
            dtype=self.body.dtype,
            scope=BufferScope.REGISTER,
        )
        way, lane = Axis("way", self.ways), Axis("lane", self.lanes)
        begin = self.over_points(
            lambda _, cell: over_lanes(way, lane, Store(partial, (*cell, way, lane), self._neutral))
        )
        body = self._inner(partial)
        for axis in reversed(self.axes[:-1]):
            body = loop_over(axis, body)
        return Allocate(partial, Block((begin, body, finish(partial))))

    def lanes_of(self, partial: Buffer, cell: Cell, lane: Axis) -> Scalar:
        """All vectors of a point that were written to, as one."""
        found: list[Scalar] = [partial[(*cell, way, lane)] for way in range(self._ways_in_use)]
        while len(found) > 1:  # pairs, so that few wait for each other
            pairs = zip(found[::2], found[1::2], strict=False)
            odd = found[-1:] if len(found) % 2 else []
            found = [combine(self.operation, left, right) for left, right in pairs] + odd
        return found[0]

    @property
    def _neutral(self) -> Scalar:
        dtype = self.body.dtype
        return literal(neutral_element(self.operation, dtype), dtype)

    @property
    def _blocks(self) -> int:
        return self.axes[-1].extent // (self.lanes * self.ways)

    @property
    def _ways_in_use(self) -> int:
        if is_symbolic(self.axes[-1].extent):
            return self.ways
        return min(self.ways, -(-self.axes[-1].extent // self.lanes))

    def _inner(self, partial: Buffer) -> Statement:
        """All of the innermost axis: whole blocks, whole vectors, and the rest under a mask."""
        axis, step = self.axes[-1], self.lanes * self.ways
        begin = self._blocks * step
        parts: list[Statement] = []
        block = Axis(f"{axis.name}_b", self._blocks)
        if self.is_row_by_row:
            parts.append(self._whole(partial, self.ways, block * step, block))
        elif self._blocks:
            parts.append(loop_over(block, self._whole(partial, self.ways, block * step)))
        if is_symbolic(axis.extent):
            parts.append(self._open_rest(partial, begin))
        elif begin < axis.extent:
            parts += self._rest(partial, begin)
        return Block(tuple(parts))

    def _whole(
        self, partial: Buffer, ways: int, begin: Scalar | int, block: Axis | None = None
    ) -> Statement:
        """`ways` whole vectors of each point; for all of `block` before the next point."""
        way, lane = Axis("way", ways), Axis("lane", self.lanes)
        index = way * self.lanes + lane + begin

        def update(values: Mapping[Axis, Scalar], cell: Cell) -> Statement:
            at = substitute(self.body, {**values, self.axes[-1]: index})
            step = over_lanes(way, lane, self._store(partial, (*cell, way, lane), at))
            return step if block is None else loop_over(block, step, LoopKind.UNROLLED)

        return self.over_points(update)

    def _rest(self, partial: Buffer, begin: int) -> Sequence[Statement]:
        """The elements from `begin` on, which fill less than a block."""
        whole, rest = divmod(self.axes[-1].extent - begin, self.lanes)
        parts = [self._whole(partial, whole, begin)] if whole else []
        if rest:
            number = literal(whole, INDEX)
            parts.append(self._masked(partial, number, number, begin))
        return parts

    def _open_rest(self, partial: Buffer, begin: int) -> Statement:
        """The same for an open axis: all into the first vector."""
        vectors = ceiling_quotient(self.axes[-1].extent - begin, self.lanes)
        number = Axis("rest", vectors)
        return loop_over(number, self._masked(partial, number, literal(0, INDEX), begin))

    def _masked(self, partial: Buffer, number: Scalar, way: Scalar, begin: int) -> Statement:
        """A vector of the rest that may reach beyond the end, into a vector of each point."""
        axis, lane = self.axes[-1], Axis("lane", self.lanes)
        index = number * self.lanes + lane + begin

        def update(values: Mapping[Axis, Scalar], cell: Cell) -> Statement:
            at = substitute(self.body, {**values, axis: index})
            value = select(binary("lt", index, axis.extent), at, self._neutral)
            return loop_over(lane, self._store(partial, (*cell, way, lane), value), LoopKind.VECTOR)

        return self.over_points(update)

    def _store(self, partial: Buffer, cell: Cell, value: Scalar) -> Statement:
        return Store(partial, cell, combine(self.operation, partial[cell], value))
