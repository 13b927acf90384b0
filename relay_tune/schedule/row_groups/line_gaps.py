"""Gaps in local buffers, so that rows begin with a line and do not share sets of the cache.

    before:  v[k * 3584 + tile * 128 + c]      36 lines, 14336 bytes apart: 2 sets of 64
    after:   v[k * 3600 + tile * 128 + c]      one line more between them: 36 sets

A first cache puts a line where the low bits of its address say. A transform that writes a line to
each of many planes waits for all those before it in the same set. This is the padding of Rivera
and Tseng, "Data transformations for eliminating conflict misses" (PLDI 1998), section 3.

    before:  s[row * 197 + k]                  of 16 rows one begins with a line
    after:   s[row * 208 + k]                  every vector is one line

Rows of an open number n of elements are (n + 15) // 16 * 16 apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import gcd, prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, literal
from relay_tune.tensor.loops import Buffer
from relay_tune.tensor.size import (
    ceiling_quotient,
    is_multiple,
    is_symbolic,
    largest,
    nominal,
    surely_less,
)
from relay_tune.tensor.walk import loads, replace_nodes

LINES = 64
"""Sets of an L1: lines so many apart share one."""

FEWEST_PLACES = 8
"""Rows that fall into fewer sets get a gap."""

LEAST_ROW = 3
"""A row of fewer times the gap that would complete its last line stays as it is."""


def with_gaps(
    nests: Sequence[Nest], buffers: Sequence[Buffer]
) -> tuple[tuple[Nest, ...], tuple[Buffer, ...]]:
    """Nests and their local buffers, with gaps where rows share sets or begin within a line."""
    wider = []
    for buffer in buffers:
        found, nests = _gapped(buffer, nests)
        wider.append(found)
    return tuple(nests), tuple(wider)


def _gapped(buffer: Buffer, nests: Sequence[Nest]) -> tuple[Buffer, Sequence[Nest]]:
    """A buffer with a gap behind its rows, if they need one, and the nests that use it."""
    width = DTYPES[buffer.dtype].itemsize
    accesses = [
        (nest, index, axis_affine(index)) for nest in nests for index in _indices(nest, buffer)
    ]
    forms = [(nest, form) for nest, _, form in accesses if form is not None]
    if len(forms) < len(accesses):
        return buffer, nests
    found = _row_and_gap(forms, width)
    if found is None:
        return buffer, nests
    row, gap = found
    wider = replace(buffer, shape=(_room(prod(buffer.shape), row, gap),))
    return wider, [_moved(nest, buffer, wider, row, gap) for nest in nests]


def _room(elements: int, row: int, gap: int) -> int:
    """The elements of a buffer with gaps; of open rows, each as long as it may be."""
    longest, widest = largest(row), largest(row + gap)
    assert longest is not None and widest is not None  # else there is no buffer
    return -(-elements // longest) * widest


def _row_and_gap(forms: Sequence[tuple[Nest, Affine]], width: int) -> tuple[int, int] | None:
    """The longest rows that share sets, or the shortest that begin within a line, and the gap."""
    apart = {each for _, form in forms for each in form.terms.values()}
    line = LINE_BYTES // width
    opened = min((each for each in apart if is_symbolic(each)), key=nominal, default=None)
    if opened is not None:
        gap = ceiling_quotient(opened, line) * line - opened
        is_row = not is_multiple(opened, line) and _is_row(opened, forms)
        return (opened, gap) if is_row else None
    rows = sorted(apart)
    for row in reversed(rows):
        if _sets(row * width) < FEWEST_PLACES and _is_row(row, forms):
            return row, line
    row = next((row for row in rows if row > 1), line)
    gap = -row % line
    return (row, gap) if gap and row >= LEAST_ROW * gap and _is_row(row, forms) else None


def _sets(stride: int) -> int:
    """In how many sets of the cache lines lie that are so many bytes apart."""
    return LINES // gcd(LINES, stride // LINE_BYTES) if stride % LINE_BYTES == 0 else LINES


def _is_row(row: int, forms: Iterable[tuple[Nest, Affine]]) -> bool:
    """Whether all accesses count rows of this length, and offsets within them."""
    for nest, form in forms:
        if form.constant < 0 or any(apart < 0 for apart in form.terms.values()):
            return False
        if form.constant and is_symbolic(row):
            return False
        inside = form.constant % row
        for axis in (*nest.axes, *nest.reduction):
            apart = form.coefficient(axis)
            if not is_multiple(apart, row):
                inside += apart * (axis.extent - 1)
        if not surely_less(inside, row) or form.terms.keys() - {*nest.axes, *nest.reduction}:
            return False
    return True


def _indices(nest: Nest, buffer: Buffer) -> list[Scalar]:
    read = [load.indices[0] for root in nest.roots for load in loads(root) if load.tensor is buffer]
    return [*read, nest.index] if nest.target is buffer else read


def _moved(nest: Nest, buffer: Buffer, wider: Buffer, row: int, gap: int) -> Nest:
    roots = []
    for root in nest.roots:
        own: dict[Scalar, Scalar] = {
            load: Load(wider, (_index(load.indices[0], row, gap),), dtype=load.dtype)
            for load in loads(root)
            if load.tensor is buffer
        }
        roots.append(replace_nodes(root, own))
    if nest.target is not buffer:
        return with_roots(nest, roots, nest.axes, nest.reduction)
    roots[-1] = _index(nest.index, row, gap)
    return replace(with_roots(nest, roots, nest.axes, nest.reduction), target=wider)


def _index(index: Scalar, row: int, gap: int) -> Scalar:
    """An index with a gap behind each row that it counts."""
    form = axis_affine(index)
    assert form is not None
    total: Scalar = literal(form.constant + form.constant // row * gap, INDEX)
    for axis, apart in form.terms.items():
        assert isinstance(axis, Axis)
        lines = apart // row * gap if is_multiple(apart, row) or not is_symbolic(row) else 0
        total = axis * (apart + lines) + total
    return total
