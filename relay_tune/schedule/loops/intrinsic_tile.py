"""A tile of a product on the registers of an intrinsic.

results = 0                                        registers of rows x columns
for reduction axes in order
  right operands                                   all parts, if registers hold them
  for rows of registers
    for left operands
      results += left * right
local tile = results
the epilogue of the local tile                     `relay_tune.schedule.loops.intrinsic_epilogue`

In a loop over tiles an epilogue that is not much longer than the products stands between those of
the next tile, whose steps each do a share of it: matrix and vector registers are busy together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relay_tune.machine.pattern import Side
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.match import IntrinsicMatch
from relay_tune.schedule.loops.intrinsic_epilogue import IntrinsicEpilogue, register_starts
from relay_tune.schedule.loops.loop_shapes import loop_over
from relay_tune.schedule.loops.open_axes import EdgeTile, edge_tiles, register_tiles
from relay_tune.schedule.loops.packed_loads import PackedLoad
from relay_tune.schedule.loops.prefetch.fetch import Fetch, Turns
from relay_tune.schedule.loops.prefetch.limits import MOST_LINES_BESIDE_MATRICES
from relay_tune.schedule.loops.prefetch.neighbours import TouchedRows
from relay_tune.schedule.loops.prefetch.right_operands import (
    Progress,
    first_round,
    next_blocks,
    sharing_tiles,
)
from relay_tune.schedule.loops.tile_points import TilePosition
from relay_tune.schedule.nests.operation_count import operation_count
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, index_value, literal
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Buffer,
    BufferScope,
    Statement,
)
from relay_tune.tensor.matrix_registers import (
    MatrixClear,
    MatrixLoad,
    MatrixMultiply,
    MatrixRegisters,
    MatrixStore,
)
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import substitute


class IntrinsicTile:
    """Writes the tiles of a nest on an intrinsic under a choice.

    `progress` is how far the thread is that computes them.
    """

    def __init__(
        self, match: IntrinsicMatch, choice: TileChoice, beside: Sequence[TouchedRows] = ()
    ) -> None:
        nest = match.nest
        self.beside = beside
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
        self.progress = Progress(literal(0, INDEX), 0)
        outer = match.outer_reduction
        order = (nest.reduction[position] for position in choice.reduction_order)
        self.steps = [axis for axis in order if axis in outer]
        self.results = Buffer(
            name="products",
            shape=(
                self.rows * match.register_rows + match.rows_before,
                self.blocks * self.pattern.columns,
            ),
            dtype=self.pattern.result,
            scope=BufferScope.LOCAL,
        )
        self.epilogue = IntrinsicEpilogue(match, self.results)

    @property
    def hides_epilogue(self) -> bool:
        """Whether the epilogue of a row is short enough to run beside products.

        Beside an open number of steps there may be no room for all rows.
        """
        if any(is_symbolic(axis.extent) for axis in self.steps):
            return False
        steps = Turns(self.steps).count * len(self.match.terms)
        operations = operation_count(self.nest.result, reduced=False)
        return steps * self.pattern.beside > operations

    def edges(self, axis: Axis, tile: int) -> Iterator[EdgeTile]:
        """The tiles behind the whole ones of an open axis."""
        if axis is self.match.row:
            return register_tiles(axis.extent, tile, self.match.register_rows)
        return edge_tiles(axis.extent, tile, 1)

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
        """The tile at these positions."""
        parts = self.products(bindings, outer), self.epilogue.whole(bindings)
        return Allocate(self.results, Block(parts))

    def products(
        self,
        bindings: dict[Axis, TilePosition],
        outer: Sequence[Axis],
        beside: Statement | None = None,
    ) -> Statement:
        """The products of the tile at these positions, with `beside` in each step.

        In a register of fewer rows where those of the tile do not fill one.
        """
        match = self.match
        columns = bindings[match.block].extent if match.block is not None else 1
        starts = register_starts(bindings[match.row], match.register_rows)
        at = {axis: binding.base for axis, binding in bindings.items()}
        inside = (match.column, match.steps, match.group)
        at |= {axis: literal(0, INDEX) for axis in inside if axis is not None}
        cells = [(row, column) for row in range(len(starts)) for column in range(columns)]
        step = list(self._step(at, starts, columns))
        if self.sharing is not None:
            limits = first_round(match, self.choice, outer, self.progress)
            step = _interleaved(step, next_blocks(match, self.sharing, at, outer, columns, limits))
        turns, most = Turns((*outer, *self.steps)), MOST_LINES_BESIDE_MATRICES
        for each in self.beside:
            for fetch in each.shares(turns, most=most):
                step = _interleaved(step, fetch)
        if beside is not None:
            step.append(beside)
        body: Statement = Block(tuple(step))
        for axis in reversed(self.steps):
            body = loop_over(axis, body)
        whole = Block(
            (
                *(MatrixClear(self._result(*cell)) for cell in cells),
                body,
                *(self._kept(starts, cell) for cell in cells),
            )
        )
        position = bindings[match.row]
        is_part = is_symbolic(position.extent) and position.registers == 0
        return self.configured(whole, position.extent) if is_part else whole

    def _result(self, row: int, column: int) -> int:
        return row * self.blocks + column

    def _right(self, part: int, column: int) -> int:
        """The register of a right operand; where not all parts are held, they share it."""
        position = part if self.holds_right else 0
        return (self.rows + position) * self.blocks + column

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
        index = substitute(load.indices[0], {**at, axis: at[axis] + index_value(start)})
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

    def _kept(self, starts: Sequence[int], cell: tuple[int, int]) -> Statement:
        row, column = cell
        before = self.match.rows_before
        position = starts[row] + before if row or before else 0
        indices = (index_value(position), literal(column * self.pattern.columns, INDEX))
        return MatrixStore(self._result(row, column), self.results, indices, self.results.shape[-1])


def of_whole_registers(choice: TileChoice, match: IntrinsicMatch) -> TileChoice:
    """A choice for example sizes with tiles of whole registers along rows of an open number."""
    position, rows = match.nest.axes.index(match.row), match.register_rows
    if not is_symbolic(match.row.extent):
        return choice
    tile = list(choice.tile)
    tile[position] = -(-tile[position] // rows) * rows
    return replace(choice, tile=tuple(tile))


def _interleaved(step: Sequence[Statement], fetch: Fetch) -> list[Statement]:
    """The statements of a step with prefetches spread evenly behind its multiplications."""
    products = sum(isinstance(statement, MatrixMultiply) for statement in step)
    count = len(fetch.lines)
    found: list[Statement] = []
    done = 0
    for statement in step:
        found.append(statement)
        if isinstance(statement, MatrixMultiply):
            begin, end = (count * n // products for n in (done, done + 1))
            if begin < end:
                found.append(replace(fetch, lines=fetch.lines[begin:end]).statement)
            done += 1
    return found
