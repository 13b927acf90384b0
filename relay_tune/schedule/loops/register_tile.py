"""One register tile of a nest.

    accumulators of the tile = neutral element        in registers
    for reduction axes in order, the innermost unrolled
      accumulators = combine(accumulators, body)      unrolled over the tile, vectors on one axis
    store the epilogue of the accumulators

A reduction may run along the lanes instead (`relay_tune.schedule.loops.lane_reduction`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from relay_tune.schedule.choice import TileChoice, unrolled_extents
from relay_tune.schedule.loops.lane_reduction import (
    LaneReduction,
    combine,
    has_short_rows,
)
from relay_tune.schedule.loops.loop_shapes import loop_over, unrolled_loop
from relay_tune.schedule.loops.open_axes import EdgeTile, edge_tiles
from relay_tune.schedule.loops.packed_loads import packed_loads
from relay_tune.schedule.loops.prefetch.epilogue_reads import epilogue_reads
from relay_tune.schedule.loops.prefetch.fetch import Site
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows
from relay_tune.schedule.loops.prefetch.next_block import ReadAhead
from relay_tune.schedule.loops.prefetch.next_part import next_part
from relay_tune.schedule.loops.prefetch.panels import panel_prefetch
from relay_tune.schedule.loops.prefetch.short_rows import short_rows
from relay_tune.schedule.loops.prefetch.streams import stream_prefetch
from relay_tune.schedule.loops.scaled_sums import scaled_sum
from relay_tune.schedule.loops.sum_levels import SumLevel, sum_levels
from relay_tune.schedule.loops.tile_points import Point, TilePosition
from relay_tune.schedule.loops.write_order import write_order
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Load,
    Scalar,
    Tensor,
    cast,
    index_value,
    literal,
    neutral_element,
)
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Buffer,
    BufferScope,
    LaneReduce,
    Let,
    Loop,
    LoopKind,
    Statement,
    Store,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, substitute

NOTHING_KNOWN: Mapping[Axis, Scalar] = MappingProxyType({})


class RegisterTile:
    """Writes the register tiles of a nest under a choice.

    Constants are packed in the order of consumption; `packed` has them.
    """

    def __init__(
        self,
        nest: Nest,
        choice: TileChoice,
        constants: frozenset[Tensor],
        for_others: Sequence[TouchedRows | ReadAhead],
    ) -> None:
        self.nest = nest
        self.choice = choice
        self.vector_axis = nest.axes[choice.vector] if choice.vector >= 0 else None
        self.reduction = tuple(nest.reduction[place] for place in choice.reduction_order)
        self.scaled = scaled_sum(nest, choice)
        self.written = write_order(nest, choice)
        self.packed = packed_loads(
            nest,
            constants,
            self.vector_axis,
            [nest.axes[place] for place in choice.order],
            self.reduction,
            dict(zip(nest.axes, choice.tile, strict=True)),
        )
        part = None if self.packed else next_part(nest, choice)
        panel = (
            panel_prefetch(nest, choice, self.reduction, self.packed)
            if choice.prefetch and part is None
            else None
        )
        rows = [axis for axis in self.written if axis is not self.vector_axis]
        behind = epilogue_reads(nest, rows, self.vector_axis)
        beside = [each for each in for_others if isinstance(each, TouchedRows)]
        stream = stream_prefetch(nest, choice, constants, self.reduction, self.packed)
        self.of_steps = stream if stream is not None and stream.is_of_steps else None
        if self.of_steps is not None:
            stream = None
        found = (panel, part, stream, *beside, behind)
        self.fetching = [each for each in found if each is not None]
        ahead = [each for each in for_others if isinstance(each, ReadAhead)]
        self.ahead = [each for each in ahead if self._is_contiguous(each.load)]
        self.short_rows = short_rows(nest, choice)
        self.ahead_axes = set(
            axes_of(*(index for each in self.ahead for index in each.load.indices))
        )

    def edges(self, axis: Axis, tile: int) -> Iterator[EdgeTile]:
        """The tiles behind the whole ones of an open axis."""
        return edge_tiles(axis.extent, tile, self.choice.lanes if axis is self.vector_axis else 1)

    def statement(self, bindings: dict[Axis, TilePosition], outer: Sequence[Axis]) -> Statement:
        """The tile at these places; `outer` are the loops around it."""
        if self.choice.vector == -2:
            return self._lane_tile(bindings)
        if self.nest.body is None:
            return self._elements(bindings)
        accumulators = self._accumulators(bindings)

        def finish(point: Point) -> Statement:
            return self._store(point, accumulators[point.cell])

        sums = self._summed(bindings, accumulators, outer)
        return Allocate(accumulators, Block((*sums, self._over_tile(bindings, finish))))

    def _summed(
        self, bindings: dict[Axis, TilePosition], sums: Buffer, outer: Sequence[Axis]
    ) -> tuple[Statement, Statement]:
        """The reduction of the nest into some registers: their start, and its loops."""
        nest, scaled = self.nest, self.scaled
        assert nest.body is not None
        if scaled is None:
            return self._in_levels(bindings, sums, outer, sum_levels(nest, self.reduction))
        around = self.reduction[: -len(scaled.inner)]
        if scaled.beside is not None:
            around = around[:-1]
        partial = [self._accumulators(bindings, scaled.term.dtype) for _ in range(scaled.together)]

        def for_each(write: Callable[[Buffer], Statement]) -> Statement:
            if scaled.beside is None:
                return write(partial[0])
            return Block(
                tuple(
                    Let(scaled.beside, literal(number, INDEX), write(own))
                    for number, own in enumerate(partial)
                )
            )

        def scaled_up(own: Buffer) -> Statement:
            def write(point: Point) -> Statement:
                value = cast(own[point.cell], sums.dtype) * self._value_at(scaled.factor, point)
                return Store(sums, point.cell, sums[point.cell] + value)

            return self._over_tile(bindings, write)

        loops = self._reduction_loops(
            bindings,
            (*outer, *around),
            scaled.inner,
            for_each(lambda own: self._added(bindings, own, scaled.term)),
        )
        parts = (
            for_each(lambda own: self._started(bindings, own, scaled.start)),
            loops,
            for_each(scaled_up),
        )
        whole: Statement = Block(parts)
        for own in reversed(partial):
            whole = Allocate(own, whole)
        for axis in reversed(around):
            whole = loop_over(axis, whole)
        return self._started(bindings, sums), whole

    def _in_levels(
        self,
        bindings: dict[Axis, TilePosition],
        sums: Buffer,
        outer: Sequence[Axis],
        levels: Sequence[SumLevel],
    ) -> tuple[Statement, Statement]:
        """A reduction whose levels have registers of their own: its start, and its loops."""
        level, *inner = levels
        if not inner:
            assert self.nest.body is not None
            step = self._added(bindings, sums, self.nest.body)
            if level.meaning is not None:
                step = Let(*level.meaning, step)
            fetches = level.meaning is None
            loops = self._reduction_loops(bindings, outer, level.axes, step, fetches)
            return self._started(bindings, sums), loops
        partial = self._accumulators(bindings)

        def added(point: Point) -> Statement:
            return Store(sums, point.cell, sums[point.cell] + partial[point.cell])

        parts = self._in_levels(bindings, partial, (*outer, *level.axes), inner)
        whole: Statement = Allocate(
            partial, Block((*parts, self._over_tile(bindings, added, vectors_in_order=True)))
        )
        if level.meaning is not None:
            whole = Let(*level.meaning, whole)
        for axis in reversed(level.axes):
            whole = loop_over(axis, whole)
        return self._started(bindings, sums), whole

    def _started(
        self, bindings: dict[Axis, TilePosition], sums: Buffer, start: Scalar | None = None
    ) -> Statement:
        """Registers with what a reduction begins with; with what changes nothing if it is None."""
        if start is not None:
            return self._over_tile(
                bindings, lambda point: Store(sums, point.cell, self._value_at(start, point))
            )
        operation = self.nest.operation
        assert operation is not None
        neutral = literal(neutral_element(operation, sums.dtype), sums.dtype)
        return self._over_tile(bindings, lambda point: Store(sums, point.cell, neutral))

    def _added(self, bindings: dict[Axis, TilePosition], sums: Buffer, body: Scalar) -> Statement:
        """One step of a reduction, for all registers."""
        operation = self.nest.operation
        assert operation is not None

        def step(point: Point) -> Statement:
            value = self._value_at(body, point)
            return Store(sums, point.cell, combine(operation, sums[point.cell], value))

        return self._over_tile(bindings, step, vectors_in_order=True)

    def _accumulators(self, bindings: dict[Axis, TilePosition], dtype: str | None = None) -> Buffer:
        """Registers for the points of a tile, of the body's type if that is not said."""
        assert self.nest.body is not None
        return self._registers(bindings, dtype or self.nest.body.dtype)

    def _registers(self, bindings: dict[Axis, TilePosition], dtype: str) -> Buffer:
        """Registers for the points of a tile."""
        shape = []
        for axis in self.nest.axes:
            extent = bindings[axis].extent
            if axis is self.vector_axis:
                continue
            shape.append(extent)
        if self.vector_axis is not None:
            extent = bindings[self.vector_axis].extent
            vectors = 1 if is_symbolic(extent) else -(-extent // self.choice.lanes)
            shape += [vectors, self.choice.lanes]
        return Buffer(
            name="accumulators",
            shape=tuple(shape),
            dtype=dtype,
            scope=BufferScope.REGISTER,
        )

    def _over_tile(
        self,
        bindings: dict[Axis, TilePosition],
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
        first = Point(bindings, inner, values, cell, None)
        if self.vector_axis is None:
            return _unrolled([inner[axis] for axis in rows], write(first))
        turn = len(rows)
        if vectors_in_order:
            turn = self.written.index(self.vector_axis)
        places = [inner[axis] for axis in rows]
        return _unrolled(places[:turn], self._over_vectors(first, places[turn:], write))

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
            place = number * lanes + lane
            point = replace(
                first,
                values={**first.values, axis: binding.base + place},
                cell=(*first.cell, number, lane),
                place=place,
            )
            ends = index_value(0), index_value(active)
            body = _unrolled(rows, Loop(lane, *ends, write(point), LoopKind.VECTOR))
            if isinstance(number, Axis):
                body = loop_over(number, body, LoopKind.UNROLLED)
            parts.append(body)
        return parts[0] if len(parts) == 1 else Block(tuple(parts))

    def _reduction_loops(
        self,
        bindings: dict[Axis, TilePosition],
        around: Sequence[Axis],
        reduction: Sequence[Axis],
        body: Statement,
        fetches: bool = True,
    ) -> Statement:
        """Reduction loops around a step that reads the nest's own reduction axes.

        `fetches` says whether it is asked early for what they read.
        """
        if not reduction:  # a single step
            return body
        unrolled = unrolled_extents(reduction, self.choice.unroll)
        *outer, innermost = reduction
        if fetches and self.of_steps is not None:
            asked = self.of_steps.fetches(Site(bindings, around, reduction))
            body = Block((*(each.statement for each in asked), body))
        body = unrolled_loop(
            innermost,
            unrolled[innermost],
            body,
            lambda group: (
                self._asked_for(Site(bindings, around, (*outer, group))) if fetches else ()
            ),
        )
        for axis in reversed(outer):
            body = unrolled_loop(axis, unrolled[axis], body)
        return body

    def _asked_for(self, site: Site) -> list[Statement]:
        """What stands in front of a group of reduction steps."""
        return [fetch.statement for each in self.fetching for fetch in each.fetches(site)]

    def _value_at(self, body: Scalar, point: Point) -> Scalar:
        """A part of what is reduced at a point."""
        replaced: dict[Scalar, Scalar] = {
            load: point.packed(packed) for load, packed in self.packed.items()
        }
        return substitute(replace_nodes(body, replaced), point.values)

    def _lane_tile(self, bindings: dict[Axis, TilePosition]) -> Statement:
        """A tile whose reduction runs along the lanes."""
        nest = self.nest
        assert nest.body is not None and nest.operation is not None
        reduction = LaneReduction(
            nest.operation,
            nest.body,
            self.reduction,
            self.choice.lanes,
            self.choice.unroll,
            tuple(bindings[axis].extent for axis in nest.axes),
            has_short_rows(self.reduction, self.choice),
            lambda write: self._over_tile(bindings, lambda point: write(point.values, point.cell)),
        )
        rows = reduction.statement(lambda partial: self._lane_results(bindings, reduction, partial))
        return Block((*(f.statement for e in self.short_rows for f in e.fetches(bindings)), rows))

    def _lane_results(
        self, bindings: dict[Axis, TilePosition], reduction: LaneReduction, partial: Buffer
    ) -> Statement:
        """The results of such a tile; those along its last axis as one vector, if it is long."""
        lane = Axis("lane", self.choice.lanes)
        last = self.nest.axes[-1] if self.nest.axes else None
        rows = bindings[last].extent if last is not None else 1
        together = last is not None and 1 < rows <= self.choice.lanes
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
            place = (row,) if together else ()
            value = LaneReduce(reduction.operation, lane, operands, dtype=partial.dtype)
            stored = Block((Store(total, place, value), self._store(point, total[place])))
            body = loop_over(row, stored, LoopKind.VECTOR) if together else stored
            return Allocate(total, body)

        if not together:
            return self._over_tile(bindings, finish)
        assert last is not None
        base = bindings[last].base
        others = {axis: binding for axis, binding in bindings.items() if axis is not last}
        return self._over_tile(others, finish, {last: base + row})

    def _is_contiguous(self, load: Load) -> bool:
        """Whether the lanes of a vector are neighbours in memory."""
        form = axis_affine(load.indices[0])
        return form is not None and form.coefficient(self.vector_axis) == 1

    def _elements(self, bindings: dict[Axis, TilePosition]) -> Statement:
        """A tile of a nest without a reduction, and what it reads in the next block.

        Points that read the same elements ask for them once: the products of a Winograd transform.
        """
        if self.nest.inside is not None:
            return self._elements_inside(bindings)
        if not self.ahead:
            return self._over_tile(bindings, self._element)
        if self.ahead_axes >= {axis for axis, tile in bindings.items() if tile.extent != 1}:
            return self._over_tile(
                bindings, lambda point: Block((self._element(point), *self._ahead_of(point)))
            )
        asking = {axis: tile for axis, tile in bindings.items() if axis in self.ahead_axes}
        fetched = self._over_tile(asking, lambda point: Block(self._ahead_of(point)))
        return Block((self._over_tile(bindings, self._element), fetched))

    def _elements_inside(self, bindings: dict[Axis, TilePosition]) -> Statement:
        """A tile of which some places may not be stored: as any other where its last one is.

        Else all are computed before any is stored: they share most of what they compute.
        """
        nest, inside = self.nest, self.nest.inside
        assert inside is not None
        values = self._registers(bindings, nest.result.dtype)
        last = {axis: tile.base + (tile.extent - 1) for axis, tile in bindings.items()}

        def computed(point: Point) -> Statement:
            return Store(values, point.cell, substitute(nest.result, point.values))

        def stored(point: Point) -> Statement:
            index = substitute(nest.index, point.values)
            store = Store(nest.target, (index,), values[point.cell])
            return Branch(substitute(inside, point.values), store)

        parts = self._over_tile(bindings, computed), self._over_tile(bindings, stored)
        at_end = Allocate(values, Block(parts))
        whole = self._over_tile(bindings, self._element)
        return Branch(substitute(inside, last), whole, at_end)

    def _element(self, point: Point) -> Statement:
        return self._store(point, None)

    def _ahead_of(self, point: Point) -> tuple[Statement, ...]:
        return tuple(each.fetch(point.values).statement for each in self.ahead)

    def _store(self, point: Point, reduced: Scalar | None) -> Statement:
        result = self.nest.result
        if reduced is not None:
            own: dict[Scalar, Scalar] = {
                load: reduced for load in loads(result) if load.tensor is self.nest.accumulator
            }
            result = replace_nodes(result, own)
        index = substitute(self.nest.index, point.values)
        return Store(self.nest.target, (index,), substitute(result, point.values))


def _unrolled(axes: Sequence[Axis], body: Statement) -> Statement:
    """`body` for all places of axes, the first one slowest, written out."""
    for axis in reversed(axes):
        body = loop_over(axis, body, LoopKind.UNROLLED)
    return body
