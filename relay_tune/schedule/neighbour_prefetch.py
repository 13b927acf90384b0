"""What the other nests of a group touch, asked for while the one with the most arithmetic runs.

    for block in 0 .. 14                             for block in 0 .. 14
      v = B^T d B       reads x[block]                 v = B^T d B
      t = v * u         arithmetic              ->     t = v * u    beside: prefetch x[block + 1],
      y = A^T t A       reads r[block],                                 r[block], y[block]
                        writes y[block]                y = A^T t A

A group leaves its own tensors in the near caches, but what it reads and writes of others comes and
goes by way of the last cache or memory. The transforms around a product have too little arithmetic
to hide that; the product has enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from relay_tune.schedule.nest import Nest
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Scalar, Tensor, binary, literal
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.loops import Block, Branch, Prefetch, Statement
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

LINE_ELEMENTS = 16

FEWEST_LINES = 64
"""Less is not worth an instruction."""

MOST_LINES = 8
"""For each written-out group of reduction steps; more would take the place of arithmetic."""

MOST_ROWS = 64
"""Pieces that what a block touches may fall apart into."""


@dataclass(frozen=True, slots=True)
class TouchedRows:
    """What a nest touches of a tensor, during one block: rows of equal length.

    Attributes:
        tensor: the tensor, flat.
        terms: the loops over blocks, and how many elements apart their neighbours begin.
        first: the first element in the first block.
        count: how many rows there are.
        apart: the elements between their beginnings.
        lines: the cache lines of a row.
        for_write: whether they are written.
    """

    tensor: Tensor
    terms: tuple[tuple[Axis, int], ...]
    first: int
    count: int
    apart: int
    lines: int
    for_write: bool

    @property
    def all_lines(self) -> int:
        """The cache lines of all rows."""
        return self.count * self.lines


def touched_rows(nest: Nest, places: Sequence[Axis], ahead: Mapping[Axis, int]) -> list[TouchedRows]:
    """What a nest of a group reads and writes of tensors outside the group.

    `places` are the loops over blocks. `ahead` is how many of their steps later the block comes
    that is meant.
    """
    read: dict[Tensor, list[Affine | None]] = {}
    for root in nest.roots:
        for load in loads(root):
            if isinstance(load.tensor, FlatView):
                read.setdefault(load.tensor, []).append(axis_affine(load.indices[0]))
    found = [_rows(tensor, forms, nest, places, ahead, False) for tensor, forms in read.items()]
    if isinstance(nest.target, FlatView):
        form = axis_affine(nest.index)
        found.append(_rows(nest.target, [form], nest, places, ahead, True))
    return [rows for rows in found if rows is not None and rows.all_lines >= FEWEST_LINES]


def _rows(
    tensor: Tensor,
    forms: Sequence[Affine | None],
    nest: Nest,
    places: Sequence[Axis],
    ahead: Mapping[Axis, int],
    for_write: bool,
) -> TouchedRows | None:
    affine = [form for form in forms if form is not None]
    if len(affine) < len(forms):
        return None
    terms = {axis: affine[0].coefficient(axis) for axis in places}
    inner = {*nest.axes, *nest.reduction}
    if any(
        form.coefficient(axis) != apart for form in affine for axis, apart in terms.items()
    ) or any(not form.terms.keys() <= {*places, *inner} for form in affine):
        return None
    if all(apart == 0 for apart in terms.values()):
        return None
    pieces = _joined(piece for form in affine for piece in _pieces(form, inner))
    shift = sum(terms[axis] * steps for axis, steps in ahead.items())
    pieces = _joined(_not_in((low + shift, high + shift), pieces) for low, high in pieces) if shift else pieces
    if not pieces or len(pieces) > MOST_ROWS:
        return None
    starts = [low for low, _ in pieces]
    steps = {second - first for first, second in zip(starts, starts[1:], strict=False)}
    if len(steps) > 1:
        return None
    longest = max(high - low for low, high in pieces)
    lines = -(-longest // LINE_ELEMENTS)
    return TouchedRows(tensor, tuple(terms.items()), starts[0], len(pieces), steps.pop() if steps else 0, lines, for_write)


Piece = tuple[int, int]
"""The first element of a piece, and the one after its last."""


def _pieces(form: Affine, inner: set[Axis]) -> Iterator[Piece]:
    """The pieces that an access touches while the inner axes run."""
    size, rows = 1, [form.constant]
    for axis in sorted((a for a in inner if form.coefficient(a)), key=form.coefficient):
        apart = form.coefficient(axis)
        if apart <= size + LINE_ELEMENTS or apart <= 2 * size:
            size += apart * (axis.extent - 1)
        else:
            rows = [row + apart * n for row in rows for n in range(axis.extent)]
    for row in rows:
        yield row, row + size


def _joined(pieces: Iterator[Piece]) -> list[Piece]:
    """Pieces with those joined that touch each other or nearly do, in order."""
    found: list[Piece] = []
    for low, high in sorted(piece for piece in pieces if piece[0] < piece[1]):
        if found and low <= found[-1][1] + LINE_ELEMENTS:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _not_in(piece: Piece, known: Sequence[Piece]) -> Piece:
    """A piece without its beginning, where that is known already."""
    low, high = piece
    for first, last in known:
        if first <= low < last:
            low = min(last, high)
    return low, high


def neighbour_fetches(
    rows: Sequence[TouchedRows], turn: Scalar, turns: int
) -> list[Statement]:
    """The share of a turn in fetching what neighbours touch, in `turns` turns."""
    found: list[Statement] = []
    for part in rows:
        lines = -(-part.all_lines // turns)
        if lines > MOST_LINES:
            continue
        start = reduce(add, [axis * apart for axis, apart in part.terms], literal(part.first, INDEX))
        fetches = []
        for n in range(lines):
            number = turn * lines + n
            at = start + number * LINE_ELEMENTS
            if part.count > 1:
                row = number // part.lines
                at = start + row * part.apart + (number % part.lines) * LINE_ELEMENTS
            fetches.append(Prefetch(part.tensor, (at,), part.for_write))
        used = -(-part.all_lines // lines)
        body: Statement = Block(tuple(fetches))
        found.append(body if used == turns else Branch(binary("lt", turn, used), body))
    return found
