"""The reduction of a register tile: where its registers start, its loops, what they ask for early.

A sum may have levels with registers of their own (`relay_tune.schedule.loops.sum_levels`), or inner
sums that are scaled together (`relay_tune.schedule.loops.scaled_sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import unrolled_extents
from relay_tune.schedule.loops.lane_reduction import combine
from relay_tune.schedule.loops.loop_shapes import loop_over, unrolled_loop
from relay_tune.schedule.loops.packed_loads import PackedLoad
from relay_tune.schedule.loops.prefetch.epilogue_reads import EpilogueReads
from relay_tune.schedule.loops.prefetch.fetch import Site
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows
from relay_tune.schedule.loops.prefetch.next_part import NextPart
from relay_tune.schedule.loops.prefetch.panels import PanelPrefetch
from relay_tune.schedule.loops.prefetch.streams import StreamPrefetch
from relay_tune.schedule.loops.scaled_sums import ScaledSum, scaled_sum
from relay_tune.schedule.loops.sum_levels import SumLevel, sum_levels
from relay_tune.schedule.loops.tile_cells import Bindings, TileCells
from relay_tune.schedule.loops.tile_points import Point
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Load,
    Scalar,
    cast,
    literal,
    neutral_element,
)
from relay_tune.tensor.loops import Allocate, Block, Buffer, Let, LoopKind, Statement, Store
from relay_tune.tensor.walk import replace_nodes, substitute

Fetching = PanelPrefetch | NextPart | StreamPrefetch | TouchedRows | EpilogueReads


@dataclass(frozen=True, eq=False, slots=True)
class TileSums:
    """Writes the reduction of a nest, tile by tile.

    Attributes:
        cells: the points of its tiles.
        reduction: its reduction axes, outermost first.
        packed: the loads that read packed constants.
        fetching: what is asked for in front of each group of steps.
        of_steps: what is asked for in each step, if there is such.
        between: what is asked for between sums beside each other, if there is such.
    """

    cells: TileCells
    reduction: tuple[Axis, ...]
    packed: Mapping[Load, PackedLoad]
    fetching: Sequence[Fetching]
    of_steps: StreamPrefetch | None
    between: StreamPrefetch | None = None

    def summed(
        self, bindings: Bindings, sums: Buffer, outer: Sequence[Axis]
    ) -> tuple[Statement, Statement]:
        """The reduction into some registers: their start, and its loops; `outer` are around it."""
        nest = self.cells.nest
        scaled = scaled_sum(nest, self.cells.choice)
        if scaled is None:
            return self._in_levels(bindings, sums, outer, sum_levels(nest, self.reduction))
        return self._scaled(bindings, sums, outer, scaled)

    def accumulators(self, bindings: Bindings, dtype: str | None = None) -> Buffer:
        """Registers for the points of a tile, of the body's type if that is not said."""
        body = self.cells.nest.body
        assert body is not None
        return self.cells.registers(bindings, dtype or body.dtype)

    def _scaled(
        self, bindings: Bindings, sums: Buffer, outer: Sequence[Axis], scaled: ScaledSum
    ) -> tuple[Statement, Statement]:
        """Inner sums, each of which is scaled as a whole."""
        around = self.reduction[: -len(scaled.inner)]
        if scaled.beside is not None:
            around = around[:-1]
        partial = [self.accumulators(bindings, scaled.term.dtype) for _ in range(scaled.together)]

        asked: list[list[Statement]] = [[] for _ in partial]
        if self.between is not None:
            site = Site(bindings, (*outer, *around), scaled.inner)
            asked = self.between.between(site, len(partial))

        def for_each(write: Callable[[Buffer], Statement], *, asks: bool = False) -> Statement:
            if scaled.beside is None:
                return write(partial[0])
            parts: list[Statement] = []
            for number, own in enumerate(partial):
                parts += asked[number] if asks else []
                parts.append(Let(scaled.beside, literal(number, INDEX), write(own)))
            return Block(tuple(parts))

        def scaled_up(own: Buffer) -> Statement:
            def write(point: Point) -> Statement:
                value = cast(own[point.cell], sums.dtype) * self._value_at(scaled.factor, point)
                return Store(sums, point.cell, sums[point.cell] + value)

            return self.cells.over(bindings, write)

        loops = self._loops(
            bindings,
            (*outer, *around),
            scaled.inner,
            for_each(lambda own: self._added(bindings, own, scaled.term), asks=True),
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
        bindings: Bindings,
        sums: Buffer,
        outer: Sequence[Axis],
        levels: Sequence[SumLevel],
    ) -> tuple[Statement, Statement]:
        """A reduction whose levels have registers of their own: its start, and its loops."""
        level, *inner = levels
        if not inner:
            body = self.cells.nest.body
            assert body is not None
            step = self._added(bindings, sums, body)
            if level.meaning is not None:
                step = Let(*level.meaning, step)
            loops = self._loops(bindings, outer, level.axes, step, level.meaning is None)
            return self._started(bindings, sums), loops
        partial = self.accumulators(bindings)

        def added(point: Point) -> Statement:
            return Store(sums, point.cell, sums[point.cell] + partial[point.cell])

        parts = self._in_levels(bindings, partial, (*outer, *level.axes), inner)
        last = self.cells.over(bindings, added, vectors_in_order=True)
        whole: Statement = Allocate(partial, Block((*parts, last)))
        if level.meaning is not None:
            whole = Let(*level.meaning, whole)
        for axis in reversed(level.axes):
            whole = loop_over(axis, whole)
        return self._started(bindings, sums), whole

    def _started(self, bindings: Bindings, sums: Buffer, start: Scalar | None = None) -> Statement:
        """Registers with what a reduction begins with; with what changes nothing if it is None."""
        if start is not None:
            return self.cells.over(
                bindings, lambda point: Store(sums, point.cell, self._value_at(start, point))
            )
        operation = self.cells.nest.operation
        assert operation is not None
        neutral = literal(neutral_element(operation, sums.dtype), sums.dtype)
        return self.cells.over(bindings, lambda point: Store(sums, point.cell, neutral))

    def _added(self, bindings: Bindings, sums: Buffer, body: Scalar) -> Statement:
        """One step of a reduction, for all registers."""
        operation = self.cells.nest.operation
        assert operation is not None

        def step(point: Point) -> Statement:
            value = self._value_at(body, point)
            return Store(sums, point.cell, combine(operation, sums[point.cell], value))

        return self.cells.over(bindings, step, vectors_in_order=True)

    def _loops(
        self,
        bindings: Bindings,
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
        unrolled = unrolled_extents(reduction, self.cells.choice.unroll)
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
        # Without a loop that sums wait in, compilers finish one after the other (decision 210).
        has_loop = any(unrolled[axis] != axis.extent for axis in reduction)
        kind = LoopKind.UNROLLED if has_loop else LoopKind.IN_ORDER
        for axis in reversed(outer):
            body = unrolled_loop(axis, unrolled[axis], body, kind=kind)
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
