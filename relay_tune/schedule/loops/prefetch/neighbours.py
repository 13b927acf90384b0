"""What the other nests of a group touch, asked for while the one with the most arithmetic runs.

    for block in 0 .. 14                             for block in 0 .. 14
      v = B^T d B       reads x[block]                 v = B^T d B
      t = v * u         arithmetic              ->     t = v * u    beside: prefetch x[block + 1],
      y = A^T t A       reads r[block],                                 r[block], y[block]
                        writes y[block]                y = A^T t A

A group leaves its own tensors in L1 and L2, but what it reads and writes of others comes and
goes by way of LLC or DRAM. The transforms around a product have too little arithmetic
to hide that; the product has enough.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.loops.prefetch.fetch import (
    Fetch,
    Site,
    Turns,
    digits,
    elements_of_line,
)
from relay_tune.schedule.loops.prefetch.limits import (
    FEWEST_LINES,
    JOINED_SHARE,
    LINE_POINTS,
    MOST_LINES,
    MOST_ROWS,
)
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, literal
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Buffer, BufferScope
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.walk import loads

Piece = tuple[int, int]
"""The first element of a piece, and the one after its last."""


@dataclass(frozen=True, slots=True)
class TouchedRows:
    """What a nest touches of a tensor, during one block: rows of equal length.

    Attributes:
        tensor: the tensor, flat.
        terms: the loops over blocks, and how many elements apart their neighbours begin.
        first: the first element in the first block.
        levels: the rows as nested loops, outermost first: how often each runs, and how many
            elements apart its rows begin.
        lines: the cache lines of a row.
        for_write: whether they are written.
        asked: the first line that is asked for, and the one after the last; None: all of them.
    """

    tensor: Tensor
    terms: tuple[tuple[Axis, int], ...]
    first: int
    levels: tuple[tuple[int, int], ...]
    lines: int
    for_write: bool
    asked: tuple[int, int] | None = None

    @property
    def all_lines(self) -> int:
        """The cache lines of all rows."""
        return prod(count for count, _ in self.levels) * self.lines

    def fetches(self, site: Site) -> Iterator[Fetch]:
        """The share of a turn; nothing where loops are open or too few."""
        yield from self.shares(Turns((*site.tiles, *site.groups)))

    def shares(self, turns: Turns, waiting: int = 0, most: int = MOST_LINES) -> Iterator[Fetch]:
        """The same for these turns, of which the first ones are `waiting`, so many lines `most`."""
        if any(is_symbolic(loop.extent) for loop in turns.loops):
            return
        begin, end = self.asked or (0, self.all_lines)
        in_turn, limits = turns.divided(end - begin, waiting)
        if in_turn <= most:
            number = (turns.number - waiting) * in_turn + begin
            lines = (self._line(number + n) for n in range(in_turn))
            yield Fetch(tuple((self.tensor, at) for at in lines), limits, for_write=self.for_write)

    def at_point(self, turns: Turns, point: Scalar, points: int) -> Fetch:
        """The line of a point of a tile without a reduction; each tile is a turn.

        The lines of a tile are spread over its points, and there are no more of them.
        """
        begin, end = self.asked or (0, self.all_lines)
        in_turn = (end - begin) // turns.count
        apart = max(points // in_turn, 1)
        line = self._line(turns.number * in_turn + point // apart + begin)
        return Fetch(((self.tensor, line),), ((point % apart, 1), (point // apart, in_turn)))

    def _line(self, number: Scalar) -> Scalar:
        """Where the line of a number begins, which is counted through all rows."""
        at: Scalar = literal(self.first, INDEX)
        for axis, apart in self.terms:
            at = at + axis * apart
        levels = (*self.levels, (self.lines, elements_of_line(self.tensor)))
        counts = [count for count, _ in levels]
        for (_, apart), digit in zip(reversed(levels), digits(number, counts), strict=True):
            at = at + digit * apart
        return at


def fetched_beside(
    nests: Sequence[Nest], places: Sequence[Axis], rows: int, constants: frozenset[Tensor]
) -> tuple[int, tuple[TouchedRows, ...]]:
    """Beside which nest of a group its neighbours' tensors are fetched, and what of them.

    `places` are the loops over blocks of so many `rows`. What nests before the busiest one touch is
    fetched for the next block, what those after it touch for the present one. Nothing is where the
    busiest nest is too short for that. The `constants` of reductions are not: they get packed.
    """
    busiest = max(range(len(nests)), key=lambda index: nominal(nests[index].points))
    if not nests[busiest].reduction:
        return busiest, ()
    found: list[TouchedRows] = []
    for index, nest in enumerate(nests):
        packed = constants if nest.reduction else frozenset()
        if index != busiest:
            found += _touched(nest, places, {places[-1]: rows} if index < busiest else {}, packed)
    if sum(part.all_lines for part in found) * LINE_POINTS > nominal(nests[busiest].points):
        return busiest, ()
    return busiest, tuple(found)


def stored_rows(nest: Nest, places: Sequence[Axis]) -> TouchedRows | None:
    """Rows that a nest stores in a block; None if they are few, none, or the same in the next."""
    form = axis_affine(nest.index) if isinstance(nest.target, FlatView) else None
    if form is None or not form.coefficient(places[-1]):
        return None
    rows = _rows(nest.target, [form], nest, places, {}, for_write=True)
    return rows if rows is not None and rows.all_lines >= FEWEST_LINES else None


def _touched(
    nest: Nest, indices: Sequence[Axis], ahead: Mapping[Axis, int], packed: frozenset[Tensor]
) -> list[TouchedRows]:
    """What a nest reads and writes of tensors outside its group, so many steps `ahead`."""
    read: dict[Tensor, list[Affine | None]] = {}
    for root in nest.roots:
        for load in loads(root):
            if _is_outside(load.tensor, packed):
                read.setdefault(load.tensor, []).append(axis_affine(load.indices[0]))
    found = [_rows(tensor, forms, nest, indices, ahead) for tensor, forms in read.items()]
    if isinstance(nest.target, FlatView):
        form = axis_affine(nest.index)
        found.append(_rows(nest.target, [form], nest, indices, ahead, for_write=True))
    return [rows for rows in found if rows is not None and rows.all_lines >= FEWEST_LINES]


def _is_outside(tensor: Tensor, packed: frozenset[Tensor]) -> bool:
    """Whether what a nest reads is no tensor of its group, and is not packed for its reductions."""
    if isinstance(tensor, Buffer):
        return tensor.scope is BufferScope.ARGUMENT
    return isinstance(tensor, FlatView) and tensor.viewed not in packed


def touched_rows(tensor: Tensor, nest: Nest, parts: Sequence[Axis]) -> TouchedRows | None:
    """Rows of a tensor that the body of a nest reads in the next step of the last of some loops.

    None as in `_rows`.
    """
    assert nest.body is not None
    read = [load for load in loads(nest.body) if load.tensor is tensor]
    forms = [axis_affine(load.indices[0]) for load in read]
    return _rows(tensor, forms, nest, parts, {parts[-1]: 1})


def _rows(
    tensor: Tensor,
    forms: Sequence[Affine | None],
    nest: Nest,
    indices: Sequence[Axis],
    ahead: Mapping[Axis, int],
    *,
    for_write: bool = False,
) -> TouchedRows | None:
    """The rows that accesses touch; None if they are not such rows, or the same in each block.

    None, too, where an open size says how far apart they lie, or how many there are.
    """
    affine = [form for form in forms if form is not None]
    inner = {*nest.axes, *nest.reduction}
    steps = [form.coefficient(axis) for form in affine for axis in inner]
    counts = (axis.extent for form in affine for axis in inner if form.coefficient(axis))
    if any(map(is_symbolic, (*steps, *counts, *(form.constant for form in affine)))):
        return None
    if len(affine) < len(forms) or any(f.terms.keys() - inner - {*indices} for f in affine):
        return None
    terms = {axis: affine[0].coefficient(axis) for axis in indices}
    if any(form.coefficient(axis) != terms[axis] for form in affine for axis in indices):
        return None
    if not any(terms.values()):
        return None
    line = elements_of_line(tensor)
    now = _pieces(affine, inner, line)
    shift = sum(terms[axis] * steps for axis, steps in ahead.items())
    pieces = _joined((_not_in((low + shift, high + shift), now) for low, high in now), line)
    pieces = pieces if shift else now
    levels = _levels([low for low, _ in pieces])
    if levels is None:
        return None
    return TouchedRows(
        tensor=tensor,
        terms=tuple(terms.items()),
        first=pieces[0][0],
        levels=levels,
        lines=max(-(-(high - low) // line) for low, high in pieces),
        for_write=for_write,
    )


def _pieces(forms: Sequence[Affine], inner: Iterable[Axis], line: int) -> list[Piece]:
    """The pieces that accesses touch while the inner axes run; small gaps are part of them."""
    found = [_rows_of(form, inner, line) for form in forms]
    return _joined(((row, row + size) for rows, size in found for row in rows), line)


def _rows_of(form: Affine, inner: Iterable[Axis], line: int) -> tuple[list[int], int]:
    """Where the rows begin that an access touches, and how long they are."""
    size, starts = 1, [form.constant]
    for axis in sorted((a for a in inner if form.coefficient(a)), key=form.coefficient):
        apart = form.coefficient(axis)
        if 0 < apart <= size + line:
            size += apart * (axis.extent - 1)
        elif len(starts) * axis.extent > MOST_ROWS:
            return [], 0
        else:
            starts = [start + apart * n for start in starts for n in range(axis.extent)]
    return starts, size


def _levels(starts: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """The beginnings of rows as one loop or two nested ones; None if they are not that regular."""
    if not starts:
        return None
    apart = [second - first for first, second in pairwise(starts)]
    inner = next((n for n, step in enumerate(apart, 1) if step != apart[0]), len(starts))
    if len(starts) % inner:
        return None
    outer = starts[inner] - starts[0] if inner < len(starts) else 0
    step = apart[0] if apart else 0
    rounds = len(starts) // inner
    regular = [starts[0] + n * outer + m * step for n in range(rounds) for m in range(inner)]
    if regular != list(starts):
        return None
    return tuple(level for level in ((rounds, outer), (inner, step)) if level[0] > 1)


def _joined(pieces: Iterable[Piece], line: int) -> list[Piece]:
    """Pieces in order, as one where they touch each other or nearly do."""
    found: list[Piece] = []
    for low, high in sorted(piece for piece in pieces if piece[0] < piece[1]):
        gap = max(line, (high - low) // JOINED_SHARE)
        if found and low <= found[-1][1] + gap:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _not_in(piece: Piece, known: Sequence[Piece]) -> Piece:
    """A piece without its beginning, as far as that lies in one of pieces that `_joined` gave."""
    low, high = piece
    index = bisect_right(known, low, key=_begin)  # they are in order and apart: one has it at most
    last = known[index - 1][1] if index else low
    return (min(last, high), high) if low < last else piece


def _begin(piece: Piece) -> int:
    return piece[0]
