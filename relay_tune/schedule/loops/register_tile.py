"""One register tile of a nest.

    accumulators of the tile = neutral element        in registers
    for reduction axes in order, the innermost unrolled
      accumulators = combine(accumulators, body)      unrolled over the tile, vectors on one axis
    store the epilogue of the accumulators

`relay_tune.schedule.loops.tile_cells` has the points of a tile, `tile_sums` the reduction; it may
run along the lanes instead (`lane_tile`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import product

from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.lane_tile import LaneTile
from relay_tune.schedule.loops.open_axes import EdgeTile, edge_tiles
from relay_tune.schedule.loops.packed_loads import packed_loads
from relay_tune.schedule.loops.prefetch.epilogue_reads import epilogue_reads
from relay_tune.schedule.loops.prefetch.fetch import Turns
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows
from relay_tune.schedule.loops.prefetch.next_block import ReadAhead
from relay_tune.schedule.loops.prefetch.next_part import next_part
from relay_tune.schedule.loops.prefetch.panels import panel_prefetch
from relay_tune.schedule.loops.prefetch.streams import stream_prefetch
from relay_tune.schedule.loops.scaled_sums import has_sums_beside
from relay_tune.schedule.loops.tile_cells import TileCells
from relay_tune.schedule.loops.tile_points import Point, TilePosition
from relay_tune.schedule.loops.tile_sums import TileSums
from relay_tune.schedule.loops.write_order import write_order
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.open_ends import without_ends
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Binary, Load, Scalar, Tensor, binary, literal
from relay_tune.tensor.loops import Allocate, Block, Branch, Statement, Store
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import axes_of, loads, replace_nodes, sub_expressions, substitute


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
        self.cells = TileCells(nest, choice, self.vector_axis, write_order(nest, choice))
        reduction = tuple(nest.reduction[position] for position in choice.reduction_order)
        self.packed = packed_loads(
            nest,
            constants,
            self.vector_axis,
            [nest.axes[position] for position in choice.order],
            reduction,
            dict(zip(nest.axes, choice.tile, strict=True)),
        )
        self.beside = [each for each in for_others if isinstance(each, TouchedRows)]
        self.sums = self._sums(reduction, constants, self.beside)
        self.lane_tile = LaneTile(self.cells, reduction, self._store)
        ahead = [each for each in for_others if isinstance(each, ReadAhead)]
        self.ahead = [each for each in ahead if self._is_contiguous(each.load)]
        self.ahead_axes = set(
            axes_of(*(index for each in self.ahead for index in each.load.indices))
        )

    def _sums(
        self,
        reduction: tuple[Axis, ...],
        constants: frozenset[Tensor],
        beside: Sequence[TouchedRows],
    ) -> TileSums:
        """The reduction, and all that is asked for in it."""
        nest, choice = self.nest, self.choice
        part = None if self.packed else next_part(nest, choice)
        panel = (
            panel_prefetch(nest, choice, reduction, self.packed)
            if choice.prefetch and part is None
            else None
        )
        rows = [axis for axis in self.cells.written if axis is not self.vector_axis]
        behind = epilogue_reads(nest, rows, self.vector_axis)
        stream = stream_prefetch(nest, choice, constants, reduction, self.packed)
        of_steps = between = None
        if stream is not None and stream.is_spread and has_sums_beside(nest, choice):
            stream, between = None, stream
        elif stream is not None and stream.is_of_steps:
            stream, of_steps = None, stream
        found = (panel, part, stream, *beside, behind)
        fetching = [each for each in found if each is not None]
        return TileSums(self.cells, reduction, self.packed, fetching, of_steps, between)

    def edges(self, axis: Axis, tile: int) -> Iterator[EdgeTile]:
        """The tiles behind the whole ones of an open axis."""
        lanes = self.choice.lanes if axis is self.vector_axis else 1
        return edge_tiles(axis.extent, tile, lanes, shares=self.nest.body is not None)

    def statement(self, bindings: dict[Axis, TilePosition], outer: Sequence[Axis]) -> Statement:
        """The tile at these positions; `outer` are the loops around it."""
        if self.choice.vector == -2:
            return self.lane_tile.statement(bindings)
        if self.nest.body is None:
            return self._elements(bindings, Turns(outer))
        accumulators = self.sums.accumulators(bindings)

        def finish(point: Point) -> Statement:
            return self._store(point, accumulators[point.cell])

        sums = self.sums.summed(bindings, accumulators, outer)
        return Allocate(accumulators, Block((*sums, self.cells.over(bindings, finish))))

    def _is_contiguous(self, load: Load) -> bool:
        """Whether the lanes of a vector are neighbours in memory."""
        form = axis_affine(load.indices[0])
        return form is not None and form.coefficient(self.vector_axis) == 1

    def _elements(self, bindings: dict[Axis, TilePosition], turns: Turns) -> Statement:
        """A tile of a nest without a reduction, and what it reads in the next block.

        Points that read the same elements ask for them once: the products of a Winograd transform.
        """
        if self.nest.inside is not None:
            return self._elements_inside(bindings)
        found = self._all_elements(bindings, turns, self.nest.result)
        whole, conditions = without_ends(self.nest)
        if not conditions:
            return found
        passed = (_whole_inside(each, bindings) for each in conditions)
        condition = reduce(partial(binary, "and"), passed)
        return Branch(condition, self._all_elements(bindings, turns, whole), found)

    def _all_elements(
        self, bindings: dict[Axis, TilePosition], turns: Turns, result: Scalar
    ) -> Statement:
        """A tile whose elements are `result`, without a test whether they are stored."""

        def element(point: Point) -> Statement:
            index = substitute(self.nest.index, point.values)
            store = Store(self.nest.target, (index,), substitute(result, point.values))
            return self._beside_fetches(store, turns, point) if self.beside else store

        if not self.ahead:
            return self.cells.over(bindings, element)
        if self.ahead_axes >= {axis for axis, tile in bindings.items() if tile.extent != 1}:
            return self.cells.over(
                bindings, lambda point: Block((element(point), *self._ahead_of(point)))
            )
        asking = {axis: tile for axis, tile in bindings.items() if axis in self.ahead_axes}
        fetched = self.cells.over(asking, lambda point: Block(self._ahead_of(point)))
        return Block((self.cells.over(bindings, element), fetched))

    def _elements_inside(self, bindings: dict[Axis, TilePosition]) -> Statement:
        """A tile of which some positions may not be stored: as any other where all of them are.

        Else all are computed before any is stored: they share most of what they compute.
        """
        nest, inside = self.nest, self.nest.inside
        assert inside is not None
        values = self.cells.registers(bindings, nest.result.dtype)

        def computed(point: Point) -> Statement:
            return Store(values, point.cell, substitute(nest.result, point.values))

        def stored(point: Point) -> Statement:
            index = substitute(nest.index, point.values)
            store = Store(nest.target, (index,), values[point.cell])
            return Branch(substitute(inside, point.values), store)

        parts = self.cells.over(bindings, computed), self.cells.over(bindings, stored)
        at_end = Allocate(values, Block(parts))
        whole = self.cells.over(bindings, lambda point: self._store(point, None))
        return Branch(_whole_inside(inside, bindings), whole, at_end)

    def _beside_fetches(self, store: Statement, turns: Turns, point: Point) -> Statement:
        """An element, beside what its point asks for; each tile is one of `turns`."""
        number, points = self.cells.number(point)
        asked = (each.at_point(turns, number, points) for each in self.beside)
        return Block((*(fetch.statement for fetch in asked), store))

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


def _whole_inside(inside: Scalar, bindings: Mapping[Axis, TilePosition]) -> Scalar:
    """Whether all positions of a tile are inside.

    Along an axis the last position is the farthest one, but where it counts the tiles of several
    rows: the next row begins where the one before ends.
    """
    turning = {
        axis
        for node in sub_expressions(inside)
        if isinstance(node, Binary) and node.operation in ("floordiv", "floormod")
        for axis in axes_of(node)
    }
    if any(is_symbolic(tile.extent) for axis, tile in bindings.items() if axis in turning):
        return literal(False, "bool")
    indices = []
    for axis, tile in bindings.items():
        before = range(tile.extent - 1) if axis in turning else ()
        indices.append([*(tile.base + index for index in before), tile.base + (tile.extent - 1)])
    corners = (dict(zip(bindings, each, strict=True)) for each in product(*indices))
    return reduce(partial(binary, "and"), (substitute(inside, corner) for corner in corners))
