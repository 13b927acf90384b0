"""A register tile whose reduction runs along the lanes, and its results."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.loops.lane_reduction import LaneReduction, has_short_rows
from relay_tune.schedule.loops.loop_shapes import loop_over
from relay_tune.schedule.loops.prefetch.short_rows import short_rows
from relay_tune.schedule.loops.tile_cells import Bindings, TileCells
from relay_tune.schedule.loops.tile_points import Point
from relay_tune.tensor.expression import INDEX, Axis, Scalar, literal
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Buffer,
    BufferScope,
    LaneReduce,
    LoopKind,
    Statement,
    Store,
)


@dataclass(frozen=True, eq=False, slots=True)
class LaneTile:
    """Writes such tiles of a nest.

    Attributes:
        cells: the points of its tiles.
        reduction: its reduction axes, outermost first.
        store: what becomes of a point, given the value of its reduction.
    """

    cells: TileCells
    reduction: tuple[Axis, ...]
    store: Callable[[Point, Scalar], Statement]

    def statement(self, bindings: Bindings) -> Statement:
        """The tile at these positions."""
        nest, choice = self.cells.nest, self.cells.choice
        assert nest.body is not None and nest.operation is not None
        reduction = LaneReduction(
            nest.operation,
            nest.body,
            self.reduction,
            choice.lanes,
            choice.unroll,
            tuple(bindings[axis].extent for axis in nest.axes),
            has_short_rows(self.reduction, choice),
            lambda write: self.cells.over(bindings, lambda point: write(point.values, point.cell)),
        )
        asked = (f.statement for e in short_rows(nest, choice) for f in e.fetches(bindings))
        rows = reduction.statement(lambda partial: self._results(bindings, reduction, partial))
        return Block((*asked, rows))

    def _results(self, bindings: Bindings, reduction: LaneReduction, partial: Buffer) -> Statement:
        """The results of a tile; those along its last axis as one vector, if it is long."""
        axes, lanes = self.cells.nest.axes, self.cells.choice.lanes
        lane = Axis("lane", lanes)
        last = axes[-1] if axes else None
        rows = bindings[last].extent if last is not None else 1
        together = last is not None and 1 < rows <= lanes
        row = Axis("row", rows)

        def finish(point: Point) -> Statement:
            cells = [point.cell]
            if together:
                cells = [(*point.cell, literal(number, INDEX)) for number in range(rows)]
            operands = tuple(reduction.lanes_of(partial, cell, lane) for cell in cells)
            shape = (rows,) if together else ()
            total = Buffer(
                name="total", shape=shape, dtype=partial.dtype, scope=BufferScope.REGISTER
            )
            index = (row,) if together else ()
            value = LaneReduce(reduction.operation, lane, operands, dtype=partial.dtype)
            stored = Block((Store(total, index, value), self.store(point, total[index])))
            body = loop_over(row, stored, LoopKind.VECTOR) if together else stored
            return Allocate(total, body)

        if not together:
            return self.cells.over(bindings, finish)
        assert last is not None
        base = bindings[last].base
        others = {axis: binding for axis, binding in bindings.items() if axis is not last}
        return self.cells.over(others, finish, {last: base + row})
