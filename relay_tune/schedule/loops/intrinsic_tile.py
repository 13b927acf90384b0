"""A tile of a product on the registers of an intrinsic.

results = 0                                        registers of rows x columns
for reduction axes in order
  right operands                                   all parts, if registers hold them
  for rows of registers
    for left operands
      results += left * right
local tile = results
for rows of the tile
  store the epilogue of the local tile             vectors along the columns
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relay_tune.machine.pattern import Side
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import IntrinsicMatch
from relay_tune.schedule.loops.loop_shapes import loop_over
from relay_tune.schedule.loops.packed_loads import PackedLoad
from relay_tune.schedule.loops.prefetch.right_operands import next_blocks, sharing_tiles
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.tensor.expression import INDEX, Axis, Binary, Load, Scalar, literal
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Buffer,
    BufferScope,
    Let,
    LoopKind,
    Statement,
    Store,
)
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads, replace_nodes, sub_expressions, substitute


class IntrinsicTile:
    """Writes the tiles of a nest on an intrinsic under a choice."""

    def __init__(self, match: IntrinsicMatch, choice: TileChoice) -> None:
        nest = match.nest
        self.nest = nest
        self.match = match
        self.choice = choice
        self.pattern = match.pattern
        self.vector_axis = match.column
        self.packed: dict[Load, PackedLoad] = {}
        extents = dict(zip(nest.axes, choice.tile, strict=True))
        self.rows = -(-extents[match.row] // match.register_rows)
        self.blocks = extents[match.block] if match.block is not None else 1
        self.holds_right = match.holds_right(self.rows, self.blocks)
        self.sharing = sharing_tiles(match, choice) if choice.prefetch else None
        outer = match.outer_reduction
        order = (nest.reduction[place] for place in choice.reduction_order)
        self.steps = [axis for axis in order if axis in outer]

    def lanes(self, axis: Axis) -> int:
        """The points of an open axis that are computed at once: the rows of a register."""
        return self.match.register_rows if axis is self.match.row else 1

    def configured(self, body: Statement, own_rows: int | None = None) -> Statement:
        """`body` with the registers that its tiles use, those of results with so many rows."""
        counts = [0] * self.pattern.registers
        rows = self.match.register_rows if own_rows is None else own_rows
        for register in range(self.match.registers(self.rows, self.blocks)):
            is_right = self._right(0, 0) <= register < self._left(0)
            counts[register] = self.match.right_rows if is_right else rows
        steps = self.match.register_steps
        if steps == self.pattern.steps:
            return MatrixRegisters(self.pattern, tuple(counts), body)
        first = self._left(0)
        lengths = (steps if register >= first else 0 for register in range(len(counts)))
        return MatrixRegisters(self.pattern, tuple(counts), body, tuple(lengths))

    def statement(self, bindings: dict[Axis, TilePosition], outer: Sequence[Axis]) -> Statement:
        """The tile at these places; registers of fewer rows, where only a run knows how many."""
        rows = bindings[self.match.row].extent
        if is_symbolic(rows):
            return self.configured(self._tile([0], bindings, outer), rows)
        return self._tile(_starts(rows, self.match.register_rows), bindings, outer)

    def _tile(
        self, starts: Sequence[int], bindings: dict[Axis, TilePosition], outer: Sequence[Axis]
    ) -> Statement:
        """A tile whose registers of results begin at these rows of it."""
        match = self.match
        block = match.block
        columns = bindings[block].extent if block is not None else 1
        at = {axis: binding.base for axis, binding in bindings.items()}
        inside = (match.column, match.steps, match.group)
        at |= {axis: literal(0, INDEX) for axis in inside if axis is not None}
        results = Buffer(
            name="products",
            shape=(self.rows * match.register_rows, self.blocks * self.pattern.columns),
            dtype=self.pattern.result,
            scope=BufferScope.LOCAL,
        )
        cells = [(row, column) for row in range(len(starts)) for column in range(columns)]
        step = list(self._step(at, starts, columns))
        if self.sharing is not None:
            step = _interleaved(
                step, next_blocks(match, self.sharing, at, outer, columns).prefetches
            )
        body: Statement = Block(tuple(step))
        for axis in reversed(self.steps):
            body = loop_over(axis, body)
        return Allocate(
            results,
            Block(
                (
                    *(MatrixClear(self._result(*cell)) for cell in cells),
                    body,
                    *(self._kept(results, starts, cell) for cell in cells),
                    self._finish(results, bindings, -min(starts[0], 0), columns),
                )
            ),
        )

    def _result(self, row: int, column: int) -> int:
        return row * self.blocks + column

    def _right(self, part: int, column: int) -> int:
        """The register of a right operand; where not all parts are held, they share it."""
        place = part if self.holds_right else 0
        return (self.rows + place) * self.blocks + column

    def _left(self, number: int) -> int:
        """The register of a left operand; they take turns in what is left."""
        first = (self.rows + (self.match.right_parts if self.holds_right else 1)) * self.blocks
        return first + number % min(self.rows, self.pattern.registers - first)

    def _step(
        self, at: Mapping[Axis, Scalar], starts: Sequence[int], columns: int
    ) -> Iterator[Statement]:
        """One step of the reduction."""
        return (self._passing_left if self.holds_right else self._changing)(at, starts, columns)

    def _passing_left(
        self, at: Mapping[Axis, Scalar], starts: Sequence[int], columns: int
    ) -> Iterator[Statement]:
        """All right operands first; each left one is loaded once and multiplied by these."""
        terms = self.match.terms
        rights = list(dict.fromkeys(right for _, right in terms))
        for part, right in enumerate(rights):
            for column in range(columns):
                yield self._load_right(right, at, part, column)
        number = 0
        for row, start in enumerate(starts):
            for left in dict.fromkeys(left for left, _ in terms):
                yield self._load_left(left, at, number, start)
                for other, right in terms:
                    if other is left:
                        for column in range(columns):
                            operands = self._left(number), self._right(rights.index(right), column)
                            yield MatrixMultiply(self._result(row, column), *operands)
                number += 1

    def _changing(
        self, at: Mapping[Axis, Scalar], starts: Sequence[int], columns: int
    ) -> Iterator[Statement]:
        """Product after product; an operand is loaded where it changes."""
        held: tuple[Load | None, Load | None] = (None, None)
        for left, right in self.match.terms:
            if left is not held[0]:
                yield from (
                    self._load_left(left, at, row, start) for row, start in enumerate(starts)
                )
            if right is not held[1]:
                yield from (self._load_right(right, at, 0, column) for column in range(columns))
            held = left, right
            for row in range(len(starts)):
                for column in range(columns):
                    yield MatrixMultiply(
                        self._result(row, column), self._left(row), self._right(0, column)
                    )

    def _load_left(
        self, load: Load, at: Mapping[Axis, Scalar], number: int, start: int
    ) -> Statement:
        axis = self.match.row
        index = substitute(load.indices[0], {**at, axis: at[axis] + start})
        register = self._left(number)
        return MatrixLoad(Side.LEFT, register, load.tensor, (index,), self.match.stride)

    def _load_right(
        self, load: Load, at: Mapping[Axis, Scalar], part: int, column: int
    ) -> Statement:
        block = self.match.block
        own = at if block is None else {**at, block: at[block] + column}
        index = substitute(load.indices[0], own)
        stride = self.pattern.row_elements(Side.RIGHT)
        return MatrixLoad(Side.RIGHT, self._right(part, column), load.tensor, (index,), stride)

    def _kept(self, results: Buffer, starts: Sequence[int], cell: tuple[int, int]) -> Statement:
        row, column = cell
        place = starts[row] - min(starts[0], 0)
        indices = (literal(place, INDEX), literal(column * self.pattern.columns, INDEX))
        return MatrixStore(self._result(row, column), results, indices, results.shape[-1])

    def _finish(
        self, results: Buffer, bindings: Mapping[Axis, TilePosition], first: int, columns: int
    ) -> Statement:
        """Store what becomes of the products; those of the tile begin in row `first`."""
        match = self.match
        row = Axis(f"{match.row.name}_i", bindings[match.row].extent)
        parts: list[Statement] = []
        for column in range(columns):
            lane = Axis(f"{match.column.name}_l", self.pattern.columns)
            values = {axis: binding.base for axis, binding in bindings.items()}
            values[match.row] = values[match.row] + row
            values[match.column] = lane
            if match.block is not None:
                values[match.block] = values[match.block] + column
            reduced = results[(row + first, lane + column * self.pattern.columns)]
            parts.append(loop_over(lane, self._stored(values, reduced), LoopKind.VECTOR))
        return loop_over(row, parts[0] if len(parts) == 1 else Block(tuple(parts)))

    def _stored(self, values: Mapping[Axis, Scalar], reduced: Scalar) -> Statement:
        """One vector of the result; places that are quotients of the row get names of their own."""
        own: dict[Scalar, Scalar] = {
            load: reduced
            for load in loads(self.nest.result)
            if load.tensor is self.nest.accumulator
        }
        roots = (replace_nodes(self.nest.result, own), self.nest.index)
        quotients = _quotients(roots, self.match.row)
        named: dict[Scalar, Axis] = {
            node: Axis("line", self.match.row.extent) for node in quotients
        }
        renamed = [replace_nodes(root, {**named}) for root in roots]
        value, index = (substitute(root, values) for root in renamed)
        body: Statement = Store(self.nest.target, (index,), value)
        for node, axis in named.items():
            body = Let(axis, substitute(node, values), body)
        return body


def of_whole_registers(choice: TileChoice, match: IntrinsicMatch) -> TileChoice:
    """A choice for example sizes with tiles of whole registers along rows of an open number."""
    place, rows = match.nest.axes.index(match.row), match.register_rows
    if not is_symbolic(match.row.extent):
        return choice
    tile = list(choice.tile)
    tile[place] = -(-tile[place] // rows) * rows
    return replace(choice, tile=tuple(tile))


def _interleaved(step: Sequence[Statement], fetched: Sequence[Statement]) -> list[Statement]:
    """The statements of a step with prefetches spread evenly behind its multiplications."""
    products = sum(isinstance(statement, MatrixMultiply) for statement in step)
    found: list[Statement] = []
    done = 0
    for statement in step:
        found.append(statement)
        if isinstance(statement, MatrixMultiply):
            begin, end = (len(fetched) * n // products for n in (done, done + 1))
            found += fetched[begin:end]
            done += 1
    return found


def _starts(rows: int, register_rows: int) -> list[int]:
    """Where the registers of a tile with so many rows begin.

    The last one ends with the tile, so that none reads beyond it; where it reaches before the tile,
    rows of the tile before are computed again.
    """
    count = -(-rows // register_rows)
    return [min(number * register_rows, rows - register_rows) for number in range(count)]


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
