"""What a tile reads behind its reduction, asked for before it.

    for tile:                                   for tile:
      for k_o:                                    for k_o:
        sums += x * w                   ->          prefetch row k_o of the residual's tile
                                                    sums += x * w
      y = sums + residual     waits               y = sums + residual

The operands of an epilogue are read all at once, while nothing computes. Asked for beside the first
steps of the reduction, row by row of the tile, they come while it runs. That is much of the time
where the reduction is short, as in the 1x1 convolutions at the ends of residual blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.loops.prefetch.fetch import Fetch, Site, Turns, digits
from relay_tune.schedule.loops.prefetch.limits import LEAST_FETCHED, MOST_LINES
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.walk import loads, substitute


@dataclass(frozen=True, slots=True)
class EpilogueReads:
    """What the tiles of a nest read behind their reduction.

    Attributes:
        loads: one of each large tensor; neighbours on the vector axis are neighbours in memory.
        rows: the axes of a tile but the vector axis, outermost first.
        vector: the vector axis.
    """

    loads: tuple[Load, ...]
    rows: tuple[Axis, ...]
    vector: Axis

    def fetches(self, site: Site) -> Iterator[Fetch]:
        """Rows of the tile; nothing where the reduction is too short, or sizes are open."""
        extents = [site.bindings[axis].extent for axis in (*self.rows, self.vector)]
        if any(
            is_symbolic(extent) for extent in (*extents, *(loop.extent for loop in site.groups))
        ):
            return
        turns = Turns(site.groups)
        in_turn, limits = turns.divided(prod(extents[:-1]))
        lines = tuple(
            (load.tensor, self._line(load, site.bindings, turns.number * in_turn + row, line))
            for load in self.loads
            if in_turn * _lines(load, extents[-1]) <= MOST_LINES
            for row in range(in_turn)
            for line in range(_lines(load, extents[-1]))
        )
        if lines:
            yield Fetch(lines, limits, near=True)

    def _line(
        self, load: Load, bindings: Mapping[Axis, TilePosition], row: Scalar, line: int
    ) -> Scalar:
        """Where a line of a row begins, which is counted through the tile."""
        values: dict[Axis, Scalar] = {axis: bindings[axis].base for axis in bindings}
        values[self.vector] = values[self.vector] + line * _line_elements(load)
        long = [axis for axis in self.rows if bindings[axis].extent > 1]
        counts = [bindings[axis].extent for axis in long]
        for axis, digit in zip(reversed(long), digits(row, counts), strict=True):
            values[axis] = values[axis] + digit
        return substitute(load.indices[0], values)


def epilogue_reads(nest: Nest, rows: Sequence[Axis], vector: Axis | None) -> EpilogueReads | None:
    """What the tiles of a nest read behind their reduction, if that is worth a fetch.

    `rows` are the axes but the vector axis, in the order in which a tile is written.
    """
    if vector is None or not nest.reduction:
        return None
    found = {
        load.tensor: load
        for load in loads(nest.result)
        if _is_large(load.tensor) and _differs_by_tile(load, nest, vector)
    }
    return EpilogueReads(tuple(found.values()), tuple(rows), vector) if found else None


def _is_large(tensor: Tensor) -> bool:
    """Whether a tensor is none of a group's own and may be in LLC or DRAM."""
    size = nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize
    return isinstance(tensor, FlatView) and size >= LEAST_FETCHED


def _differs_by_tile(load: Load, nest: Nest, vector: Axis) -> bool:
    """Whether each tile reads elements of its own, neighbours along the vector axis.

    Tiles of carried parts read what those of earlier parts have stored, long before.
    """
    form = axis_affine(load.indices[0])
    if form is None or form.coefficient(vector) != 1:
        return False
    return all(form.coefficient(axis) for axis in nest.axes if axis not in nest.carried)


def _lines(load: Load, elements: int) -> int:
    """The cache lines that so many neighbours fill."""
    return -(-elements // _line_elements(load))


def _line_elements(load: Load) -> int:
    return LINE_BYTES // DTYPES[load.dtype].itemsize
