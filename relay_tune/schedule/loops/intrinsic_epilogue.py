"""What becomes of the products of a tile on an intrinsic, which a local buffer holds.

for rows of the tile
  store the epilogue of a row of products          vectors along the columns
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.intrinsics.match import IntrinsicMatch
from relay_tune.schedule.loops.loop_shapes import loop_over
from relay_tune.schedule.loops.prefetch.fetch import Turns
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.tensor.expression import Axis, Binary, Scalar, binary, index_value
from relay_tune.tensor.loops import (
    Block,
    Branch,
    Buffer,
    Let,
    Loop,
    LoopKind,
    Statement,
    Store,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads, replace_nodes, sub_expressions, substitute


def register_starts(place: TilePosition, register_rows: int) -> list[int]:
    """Where the registers of a tile along its rows begin.

    The last one ends with the tile, so that none reads beyond it; where it reaches before the tile,
    rows of the tile before are computed again. Rows that do not fill one are a part of one.
    """
    rows, count = place.extent, place.registers
    if not is_symbolic(rows):
        count = -(-rows // register_rows)
    elif count == 0:
        return [0]
    return [*(number * register_rows for number in range(count - 1)), rows - register_rows]


def rows_before(place: TilePosition, match: IntrinsicMatch) -> int:
    """How many rows in the buffer of products stand before those of the tile."""
    if is_symbolic(match.row.extent):
        return match.rows_before
    return max(0, match.register_rows - place.extent)


@dataclass(frozen=True, slots=True)
class IntrinsicEpilogue:
    """Writes the epilogue of tiles.

    Attributes:
        match: the nest.
        products: the buffer, rows of registers beside each other.
    """

    match: IntrinsicMatch
    products: Buffer

    def whole(self, bindings: Mapping[Axis, TilePosition]) -> Statement:
        """The epilogue of the tile at these positions."""
        row = self._row(bindings)
        return loop_over(row, self._of_row(bindings, row))

    def shares(self, bindings: Mapping[Axis, TilePosition], steps: Sequence[Axis]) -> Statement:
        """The share of it that stands in each iteration of some loops: as many rows, then none."""
        row, turns = self._row(bindings), Turns(steps)
        share, limits = turns.divided(row.extent)
        first, rest = turns.number * share, row.extent % share
        body = self._rows(bindings, row, first, share)
        if rest:
            last = self._rows(bindings, row, first, rest)
            body = Branch(binary("lt", turns.number, row.extent // share), body, last)
        for number, used in limits:
            body = Branch(binary("lt", number, used), body)
        return body

    def _row(self, bindings: Mapping[Axis, TilePosition]) -> Axis:
        row = self.match.row
        return Axis(f"{row.name}_i", bindings[row].extent)

    def _rows(
        self, bindings: Mapping[Axis, TilePosition], row: Axis, first: Scalar, count: int
    ) -> Statement:
        """So many rows from `first` on, if there are so many."""
        number = Axis(f"{row.name[:10]}_n", count)
        body, extent = self._of_row(bindings, row, any_columns=True), self.match.row.extent
        if is_symbolic(extent):
            body = Branch(binary("lt", bindings[self.match.row].base + row, extent), body)
        return loop_over(number, Let(row, first + number, body))

    def _of_row(
        self, bindings: Mapping[Axis, TilePosition], row: Axis, *, any_columns: bool = False
    ) -> Statement:
        """One row of the tile; where registers reach before the tile, it begins behind that.

        With `any_columns`, the tile may have fewer of them than `bindings` say.
        """
        match, width = self.match, self.match.pattern.columns
        columns = bindings[match.block].extent if match.block is not None else 1
        first = rows_before(bindings[match.row], match)
        parts: list[Statement] = []
        for column in range(columns):
            lane = Axis(f"{match.column.name}_l", width)
            values = {axis: binding.base for axis, binding in bindings.items()}
            values[match.row] = values[match.row] + row
            values[match.column] = lane
            if match.block is not None:
                values[match.block] = values[match.block] + column
            reduced = self.products[(row + first, lane + column * width)]
            vector = loop_over(lane, self._stored(values, reduced), LoopKind.VECTOR)
            stored: Statement = vector
            if match.block is not None and is_symbolic(match.block.extent):
                is_last = any_columns or column == columns - 1
                stored = self._open(vector, values[match.block], is_last, any_columns)
            parts.append(stored)
        return parts[0] if len(parts) == 1 else Block(tuple(parts))

    def _open(self, vector: Loop, block: Scalar, may_be_last: bool, may_miss: bool) -> Statement:
        """A vector of an open number of columns: all of it, those that are left, or none."""
        match = self.match
        assert match.block is not None
        if may_be_last and match.open_columns is not None:
            whole, rest = divmod(match.open_columns, match.pattern.columns)
            last: Statement = replace(vector, end=index_value(rest))
            if may_miss:
                last = Branch(binary("lt", block, match.block.extent), last)
            return Branch(binary("lt", block, whole), vector, last)
        return Branch(binary("lt", block, match.block.extent), vector) if may_miss else vector

    def _stored(self, values: Mapping[Axis, Scalar], reduced: Scalar) -> Statement:
        """One vector of the result; indices that are quotients of the row get own names."""
        nest, row = self.match.nest, self.match.row
        own: dict[Scalar, Scalar] = {
            load: reduced for load in loads(nest.result) if load.tensor is nest.accumulator
        }
        roots = (replace_nodes(nest.result, own), nest.index)
        named: dict[Scalar, Axis] = {
            node: Axis("line", row.extent) for node in _quotients(roots, row)
        }
        renamed = [replace_nodes(root, {**named}) for root in roots]
        value, index = (substitute(root, values) for root in renamed)
        body: Statement = Store(nest.target, (index,), value)
        for node, axis in named.items():
            body = Let(axis, substitute(node, values), body)
        return body


def _quotients(roots: Sequence[Scalar], row: Axis) -> list[Binary]:
    """The quotients and remainders of a row in expressions."""
    return list(
        dict.fromkeys(
            node
            for root in roots
            for node in sub_expressions(root)
            if isinstance(node, Binary)
            and node.operation in ("floordiv", "floormod")
            and node.left is row
        )
    )
