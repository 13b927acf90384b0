"""The points of a register tile: where registers hold them, and in which order they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.loop_shapes import loop_over
from relay_tune.schedule.loops.tile_points import Point, TilePosition
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import INDEX, Axis, Scalar, index_value, literal
from relay_tune.tensor.loops import Block, Buffer, BufferScope, Loop, LoopKind, Statement
from relay_tune.tensor.size import is_symbolic

Bindings = Mapping[Axis, TilePosition]

NOTHING_KNOWN: Mapping[Axis, Scalar] = MappingProxyType({})


@dataclass(frozen=True, eq=False, slots=True)
class TileCells:
    """The points of the tiles of a nest under a choice.

    Attributes:
        nest: the nest.
        choice: its choice.
        vector_axis: the axis along the lanes, if it is one of the output.
        written: the axes in the order in which points are written out, the slowest first.
    """

    nest: Nest
    choice: TileChoice
    vector_axis: Axis | None
    written: tuple[Axis, ...]

    def registers(self, bindings: Bindings, dtype: str) -> Buffer:
        """Registers for the points of a tile."""
        shape = [bindings[axis].extent for axis in self.nest.axes if axis is not self.vector_axis]
        if self.vector_axis is not None:
            extent = bindings[self.vector_axis].extent
            vectors = 1 if is_symbolic(extent) else -(-extent // self.choice.lanes)
            shape += [vectors, self.choice.lanes]
        return Buffer(
            name="accumulators", shape=tuple(shape), dtype=dtype, scope=BufferScope.REGISTER
        )

    def number(self, point: Point) -> tuple[Scalar, int]:
        """How many points of its tile `over` writes before one, and how many in all.

        Vectors are points, and follow each other.
        """
        number: Scalar = literal(0, INDEX)
        points = 1
        for axis in (axis for axis in self.written if axis in point.inner):
            number = number * point.inner[axis].extent + point.inner[axis]
            points *= point.inner[axis].extent
        if self.vector_axis is not None:
            vectors = -(-point.bindings[self.vector_axis].extent // self.choice.lanes)
            number, points = number * vectors + point.cell[-2], points * vectors
        return number, points

    def over(
        self,
        bindings: Bindings,
        write: Callable[[Point], Statement],
        known: Mapping[Axis, Scalar] = NOTHING_KNOWN,
        *,
        vectors_in_order: bool = False,
    ) -> Statement:
        """`write` for each point of the tile, unrolled, vectors on the vector axis.

        `known` are axes that have values already. The vectors of a row follow each other, unless
        they are to take their turn in the order in which the tile is written.
        """
        inner = {
            axis: Axis(f"{axis.name}_i", binding.extent)
            for axis, binding in bindings.items()
            if axis is not self.vector_axis
        }
        values: dict[Axis, Scalar] = dict(known)
        for axis, position in inner.items():
            values[axis] = bindings[axis].base + position
        cell: tuple[Scalar, ...] = tuple(inner[axis] for axis in self.nest.axes if axis in inner)
        rows = [axis for axis in self.written if axis in inner]
        first = Point(dict(bindings), inner, values, cell, None)
        if self.vector_axis is None:
            return _unrolled([inner[axis] for axis in rows], write(first))
        turn = len(rows)
        if vectors_in_order:
            turn = self.written.index(self.vector_axis)
        positions = [inner[axis] for axis in rows]
        return _unrolled(positions[:turn], self._over_vectors(first, positions[turn:], write))

    def _over_vectors(
        self, first: Point, rows: Sequence[Axis], write: Callable[[Point], Statement]
    ) -> Statement:
        """`write` for each vector, and there for each of some rows; `first` has no vector yet."""
        axis = self.vector_axis
        assert axis is not None
        lanes = self.choice.lanes
        binding = first.bindings[axis]
        full, rest = (
            (0, binding.extent) if is_symbolic(binding.extent) else divmod(binding.extent, lanes)
        )
        parts: list[Statement] = []
        for count, active in ((full, lanes), (1 if rest else 0, rest)):
            if not count:
                continue
            lane = Axis(f"{axis.name}_l", lanes if is_symbolic(active) else active)
            number: Scalar = (
                Axis(f"{axis.name}_v", count) if active == lanes else literal(full, INDEX)
            )
            position = number * lanes + lane
            point = replace(
                first,
                values={**first.values, axis: binding.base + position},
                cell=(*first.cell, number, lane),
                place=position,
            )
            ends = index_value(0), index_value(active)
            body = _unrolled(rows, Loop(lane, *ends, write(point), LoopKind.VECTOR))
            if isinstance(number, Axis):
                body = loop_over(number, body, LoopKind.UNROLLED)
            parts.append(body)
        return parts[0] if len(parts) == 1 else Block(tuple(parts))


def _unrolled(axes: Sequence[Axis], body: Statement) -> Statement:
    """`body` for all positions of axes, the first one slowest, written out."""
    for axis in reversed(axes):
        body = loop_over(axis, body, LoopKind.UNROLLED)
    return body
