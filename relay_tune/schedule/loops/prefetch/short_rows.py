"""Short rows that a tile reduces along the lanes, asked for two tiles ahead.

    for tiles of 16 keys:
      prefetch keys[tile + 2]                    in the order of their addresses
      s[tile] = sum(f < 64) q[f] * keys[tile, f]

A few loads a row, then shuffles, leave memory idle: what a processor asks for by itself follows
single instructions, each of which reads one line in several KB here. 256 MB of such rows, one core
of an AMD Zen 4 that reads 26 GB/s line by line: 9 GB/s, 15 with 2 KB ahead, 19 with 8, 20 with 16;
7 and 8 where the tile reads a column of lines after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.loops.lane_reduction import has_short_rows
from relay_tune.schedule.loops.prefetch.fetch import Fetch
from relay_tune.schedule.loops.prefetch.limits import LEAST_FETCHED, ROWS_AHEAD
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Binary, Load, Scalar, Tensor, literal
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import nominal
from relay_tune.tensor.walk import loads, substitute


@dataclass(frozen=True, slots=True)
class ShortRows:
    """Rows that lie one behind the other.

    Attributes:
        load: reads them.
        row: the axis that counts them.
        step: the axis along a row.
        tile: how many a whole tile reads.
    """

    load: Load
    row: Axis
    step: Axis
    tile: int

    def fetches(self, bindings: Mapping[Axis, TilePosition]) -> Iterator[Fetch]:
        """The rows of a tile further on, unless these are behind the last one."""
        binding, size = bindings[self.row], DTYPES[self.load.dtype].itemsize
        if binding.extent < self.tile:
            return
        row_bytes = self.step.extent * size
        ahead = -(-ROWS_AHEAD // row_bytes)
        values: dict[Axis, Scalar] = {axis: each.base for axis, each in bindings.items()}
        values |= {self.row: binding.base + ahead, self.step: literal(0, INDEX)}
        begin = substitute(self.load.indices[0], values)
        lines = range(0, binding.extent * row_bytes, LINE_BYTES)
        wanted = tuple((self.load.tensor, begin + line // size) for line in lines)
        yield Fetch(wanted, ((binding.base + (ahead + binding.extent - 1), self.row.extent),), True)


def short_rows(nest: Nest, choice: TileChoice) -> tuple[ShortRows, ...]:
    """The rows that the tiles of a nest multiply; those of a softmax are read again anyway."""
    body = nest.body
    if not isinstance(body, Binary) or body.operation != "mul":
        return ()
    if not has_short_rows(nest.reduction, choice):
        return ()
    tiles = {axis: tile for axis, tile in zip(nest.axes, choice.tile, strict=True) if tile > 1}
    if len(tiles) != 1:
        return ()
    ((row, tile),), (step,) = tiles.items(), nest.reduction
    axes = [axis for axis in nest.axes if axis.extent != 1]
    found = dict.fromkeys(load for load in loads(body) if _are_rows(load, axes, row, step))
    return tuple(ShortRows(load, row, step, tile) for load in found)


def _are_rows(load: Load, axes: Sequence[Axis], row: Axis, step: Axis) -> bool:
    """Whether a load reads each element of a large tensor once, row after row."""
    form = axis_affine(load.indices[0]) if _is_large(load.tensor) else None
    if form is None or not all(form.coefficient(axis) for axis in axes):
        return False
    return form.coefficient(step) == 1 and form.coefficient(row) == step.extent


def _is_large(tensor: Tensor) -> bool:
    size = nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize
    return isinstance(tensor, FlatView) and size >= LEAST_FETCHED
