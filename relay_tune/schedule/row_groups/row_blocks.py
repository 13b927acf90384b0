"""A group of nests as one loop over blocks of rows.

    for h in 0 .. 12                          the row axes that are not cut, in parallel
      for block in 0 .. 16                    of 8 rows
        local scores: [8 * 128], ...          what the members leave for each other
        the members' own nests, over 8 rows

What a member stores for others is indexed within the block. Each member leaves the same choices as
a nest by itself. If the rows are no whole number of blocks, the last block has nests of its own.
Where it is not known how many rows there are, what is left runs in blocks of one row, or as a block
of its own whose rows are counted when the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import prod
from operator import mul

from relay_tune.errors import InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.nest import Nest, fuse_axes, with_roots
from relay_tune.schedule.packing import PackedConstant
from relay_tune.schedule.row_groups.groups import Member, RowGroup
from relay_tune.schedule.row_groups.line_gaps import with_gaps
from relay_tune.schedule.row_groups.row_axes import RowAxis
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor, index_value, word
from relay_tune.tensor.index import FlatView, simplify
from relay_tune.tensor.loops import Buffer, BufferScope
from relay_tune.tensor.size import (
    UndecidedSizeError,
    ceiling_quotient,
    is_multiple,
    is_symbolic,
    largest,
    nominal,
)
from relay_tune.tensor.walk import loads, replace_nodes

MAXIMUM_LOCAL_BYTES = 1280 << 10
"""Local buffers lie on the stack."""


MOST_SINGLE_ROWS = 4
"""Of larger blocks, what is left of an open number of rows is one block, not one for each row."""


@dataclass(frozen=True, eq=False, slots=True)
class RowBlocks:
    """A group whose rows run in blocks.

    Attributes:
        group: the group.
        outer: the row axes that are not cut.
        base: the first row of a block on the innermost row axis.
        rows: of a block.
        nests: the members on a whole block.
        last: the members on what is left at the end; empty if nothing is.
        buffers: the local tensors.
        last_rows: the rows of a block at the end.
        packed: the constants that the nests read in an order of their own.
        apart: how many of the loops, the outermost ones, can run in parallel; None if all can.
    """

    group: RowGroup
    outer: tuple[Axis, ...]
    base: Axis
    rows: int
    nests: tuple[Nest, ...]
    last: tuple[Nest, ...]
    buffers: tuple[Buffer, ...]
    last_rows: int
    packed: tuple[PackedConstant, ...] = ()
    apart: int | None = None

    @property
    def whole(self) -> int:
        """How many blocks have all of their rows, for each point of the outer axes."""
        return self.base.extent // self.rows

    @property
    def at_end(self) -> int:
        """How many blocks follow them, for each point of the outer axes."""
        if is_symbolic(self.last_rows):
            return ceiling_quotient(self.base.extent, self.rows) - self.whole
        rest = self.base.extent - self.whole * self.rows
        return -(-rest // self.last_rows) if self.last else 0

    @property
    def blocks(self) -> int:
        """How often the loop runs."""
        return prod(axis.extent for axis in self.outer) * (self.whole + self.at_end)


def block_bytes(group: RowGroup, rows: int) -> int:
    """What the local tensors of a block of rows take."""
    return rows * group.row_bytes


def room_bytes(group: RowGroup, rows: int) -> int:
    """What has room for the local tensors of a block of rows, whatever open sizes are.

    Raises UndecidedSizeError where these may be any.
    """
    return _largest(block_bytes(group, rows))


def row_blocks(group: RowGroup, rows: int, *, rest_together: bool = False) -> RowBlocks:
    """A group in blocks of so many rows, or of all that there are on its innermost row axis.

    With `rest_together`, and of large blocks, what is left of an open number of rows is one block,
    not one for each row.

    Raises InputError if the blocks are too large, UndecidedSizeError if they may have any size.
    """
    extents = common_extents(group)
    rows = cut_rows(group, rows)
    if room_bytes(group, rows) > MAXIMUM_LOCAL_BYTES:
        raise InputError(
            f"Blocks of {rows} rows are too large for local buffers.",
            remedy="Choose blocks of fewer rows.",
        )
    buffers = {tensor: _buffer(tensor, group, rows) for tensor in group.local}
    outer = tuple(Axis(f"row{n}", extent) for n, extent in enumerate(extents[:-1]))
    base = Axis("row", extents[-1])
    indices = (*outer, base)
    rest = last_rows(extents[-1], rows, rest_together=rest_together)
    nests = [_in_block(m, indices, rows, rows, buffers) for m in group.members]
    last = [_in_block(m, indices, rows, rest, buffers) for m in group.members if rest]
    gapped, local = with_gaps([*nests, *last], list(buffers.values()))
    return RowBlocks(
        group=group,
        outer=outer,
        base=base,
        rows=rows,
        nests=gapped[: len(nests)],
        last=gapped[len(nests) :],
        buffers=local,
        last_rows=rest,
        apart=_loops_apart(group, extents),
    )


def _loops_apart(group: RowGroup, extents: Sequence[int]) -> int | None:
    """How many of the loops stand around those whose parts of a sum are added up in their order."""
    for member in group.members:
        if member.nest.carried:
            is_carried = [row.axis in member.nest.carried for row in member.rows]
            outer = prod(row.extent for row in member.rows[: is_carried.index(True)])
            return list(accumulate(extents, mul, initial=1)).index(outer)
    return None


def cut_rows(group: RowGroup, rows: int) -> int:
    """The rows of a block: so many, or all that there are on the innermost row axis."""
    extent = common_extents(group)[-1]
    return rows if is_symbolic(extent) else min(rows, extent)


def last_rows(extent: int, rows: int, *, rest_together: bool = False) -> int:
    """The rows of a block behind the whole ones: all that are left, or 1 if that is open.

    With `rest_together`, and of large blocks, all that are left even then.
    """
    if is_symbolic(extent) and not rest_together and rows <= MOST_SINGLE_ROWS:
        return 0 if is_multiple(extent, rows) else 1
    return extent % rows


def common_extents(group: RowGroup) -> list[int]:
    """The extents of the loops, outermost first, that all members' row axes are made of."""
    counts = {1, *(count for member in group.members for count in member.counts)}
    ordered = sorted(counts, key=nominal)
    return [larger // smaller for smaller, larger in pairwise(ordered)] or [1]


def _buffer(tensor: Tensor, group: RowGroup, rows: int) -> Buffer:
    size = _largest(prod(tensor.shape) // group.rows * rows)
    return Buffer(name=tensor.name, shape=(size,), dtype=tensor.dtype, scope=BufferScope.LOCAL)


def _largest(size: int) -> int:
    most = largest(size)
    if most is None:
        raise UndecidedSizeError(f"The open size {size} may be larger than any local buffer.")
    return most


def _in_block(
    member: Member,
    indices: Sequence[Axis],
    rows: int,
    extent: int,
    buffers: Mapping[Tensor, Buffer],
) -> Nest:
    """A member over `extent` rows of a block of `rows`; its first axis counts them."""
    nest = _made_local(member, buffers)
    inside = Axis("rows", extent)
    values = [*indices[:-1], indices[-1] + inside if rows > 1 else indices[-1]]
    mapping: dict[Axis, Scalar] = {}
    parts: dict[Axis, Axis] = {}
    for row_axis in reversed(member.rows):
        mapping[row_axis.axis] = _row_part(row_axis, values, indices)
        if row_axis.inside > 1:
            part = Axis(row_axis.axis.name, row_axis.inside)
            parts[row_axis.axis] = part
            mapping[row_axis.axis] = mapping[row_axis.axis] * row_axis.inside + part
    axes = [parts.get(a, a) for a in nest.axes if a not in mapping or a in parts]
    if rows > 1:
        axes.insert(0, inside)
    roots = [simplify(root, mapping) for root in nest.roots]
    inside_block = replace(with_roots(nest, roots, axes, nest.reduction), carried=())
    return fuse_axes(_within_block(inside_block, indices, buffers))


def _row_part(row_axis: RowAxis, values: list[Scalar], indices: Sequence[Axis]) -> Scalar:
    """The value of a row axis: the innermost of the remaining common loops, which it uses up."""
    total: Scalar = index_value(0)
    stride = 1
    while stride != row_axis.extent:
        extent = indices[len(values) - 1].extent
        total = values.pop() * stride + total
        stride *= extent
    return total


def _made_local(member: Member, buffers: Mapping[Tensor, Buffer]) -> Nest:
    """The nest with buffers in place of the tensors that are local; indices are still global."""
    nest = member.nest
    roots = []
    for root in nest.roots:
        own: dict[Scalar, Scalar] = {
            load: _from_buffer(load, buffers[load.tensor.viewed])
            for load in loads(root)
            if isinstance(load.tensor, FlatView) and load.tensor.viewed in buffers
        }
        roots.append(replace_nodes(root, own))
    assert isinstance(nest.target, FlatView)
    target = buffers.get(nest.target.viewed, nest.target)
    return replace(with_roots(nest, roots, nest.axes, nest.reduction), target=target)


def _from_buffer(load: Load, buffer: Buffer) -> Scalar:
    """What a load of a local tensor, or of its words, has in the buffer."""
    if load.dtype == buffer.dtype:
        return Load(buffer, load.indices, dtype=load.dtype)
    group = DTYPES[load.dtype].itemsize // DTYPES[buffer.dtype].itemsize
    first = load.indices[0] * group
    return word([buffer[first + number] for number in range(group)])


def _within_block(nest: Nest, indices: Sequence[Axis], buffers: Mapping[Tensor, Buffer]) -> Nest:
    """The nest with accesses of local buffers counted from the block's first row."""
    known = set(buffers.values())
    start = dict.fromkeys(indices, index_value(0))
    roots = []
    for root in nest.roots:
        own: dict[Scalar, Scalar] = {
            load: Load(load.tensor, (simplify(load.indices[0], start),), dtype=load.dtype)
            for load in loads(root)
            if load.tensor in known
        }
        roots.append(replace_nodes(root, own))
    if nest.target in known:
        roots[-1] = simplify(roots[-1], start)
    return with_roots(nest, roots, nest.axes, nest.reduction)
