"""Groups of nests that run row by row: what one of them stores, the next reads in the same row.

    before:  for n, i: e[n, i] = exp(x[n, i])        after:  for n:
             for n:    s[n] = sum(i) e[n, i]                   for i: e'[i] = exp(x[n, i])
             for n, i: y[n, i] = e[n, i] / s[n]                s' = sum(i) e'[i]
                                                               for i: y[n, i] = e'[i] / s'

The tensors between them shrink to a block of rows, which stays in the nearest cache, and one kernel
without barriers does the work of several. This is the `compute_at` of Halide (Ragan-Kelley et al.,
PLDI 2013), found from the accesses; with two matrix products in a group it is the tiling of
attention by Dao et al. ("FlashAttention", NeurIPS 2022), whole rows of scores at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, islice, pairwise
from math import prod
from operator import mul

from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.open_ends import ends_of
from relay_tune.schedule.nests.sliding_windows import sliding_axes
from relay_tune.schedule.row_groups.row_axes import NO_ENDS, RowAxis, row_axes
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import UndecidedSizeError, is_multiple, nominal
from relay_tune.tensor.tensor import ProcedureOutput
from relay_tune.tensor.walk import loads

MAXIMUM_ROW_BYTES = 64 << 10
"""Rows whose intermediate values take more would not stay in L2."""

COPIED_ROW_BYTES = 256 << 10
"""The same of rows that are only copied, as panels of products are, which the second cache holds:
products of 64 x 784 x 512 to 1024 x 1024 x 1024 take 0.96 to 1.03 of the time on one Zen 4 core."""

REMEMBERED = 256
"""Lists of steps whose groups are kept: blocks of each number of rows ask for the same."""

Step = Nest | ProcedureOutput


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A nest of a group and the axes of it that count the rows, outermost first."""

    nest: Nest
    rows: tuple[RowAxis, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many rows the outermost axes count together: of the first, of the first two, .."""
        return tuple(accumulate((axis.extent for axis in self.rows), mul))


@dataclass(frozen=True, eq=False, slots=True)
class RowGroup:
    """Nests that run together for each row.

    Attributes:
        members: producers first.
        rows: how many rows there are.
        local: the tensors that only the members touch.
    """

    members: tuple[Member, ...]
    rows: int
    local: tuple[Tensor, ...]

    @property
    def row_bytes(self) -> int:
        """What the local tensors take for one row."""
        return self.local_bytes // self.rows

    @property
    def local_bytes(self) -> int:
        """What the local tensors take in all."""
        return sum(prod(t.shape) * DTYPES[t.dtype].itemsize for t in self.local)


def with_groups(
    steps: Sequence[Step],
    outputs: Sequence[Tensor],
    most_row_bytes: int = MAXIMUM_ROW_BYTES,
    *,
    outermost: bool = False,
) -> list[Step | RowGroup]:
    """The steps of a program in an order in which they can run, those that share rows as groups.

    With `outermost`, rows are counted by the outermost axis of the first nest alone.
    """
    return list(_with_groups(tuple(steps), tuple(outputs), most_row_bytes, outermost))


@remembered(REMEMBERED)
def _with_groups(
    steps: tuple[Step, ...], outputs: tuple[Tensor, ...], most_row_bytes: int, outermost: bool
) -> tuple[Step | RowGroup, ...]:
    flow = _Flow(steps, outputs)
    found: list[Step | RowGroup] = []
    pending: list[Sequence[Step] | RowGroup] = [steps]
    while pending:
        part = pending.pop()
        if isinstance(part, RowGroup):
            found.append(part)
            continue
        group = _best_group(part, flow, most_row_bytes, outermost)
        if group is None:
            found += part
            continue
        members = {member.nest for member in group.members}
        after = flow.depending(part, members)
        others = [step for step in part if step not in members]
        before = [step for step in others if step not in after]
        pending += [[step for step in others if step in after], group, before]
    return tuple(found)


def _best_group(
    steps: Sequence[Step], flow: _Flow, most_row_bytes: int, outermost: bool
) -> RowGroup | None:
    """The group that keeps most bytes out of memory; of equal ones that with the smallest rows."""
    found: list[RowGroup] = []
    for position, first in enumerate(steps):
        if isinstance(first, Nest) and flow.is_whole(first):
            found += _groups(steps, flow, position, most_row_bytes, outermost)
    return max(found, key=_kept_bytes_and_rows, default=None)


def _groups(
    steps: Sequence[Step], flow: _Flow, position: int, most_row_bytes: int, outermost: bool
) -> Iterator[RowGroup]:
    """The groups that begin with a step; none where that depends on a size that is open."""
    first = steps[position]
    assert isinstance(first, Nest)
    with suppress(UndecidedSizeError):
        for rows in islice(_row_counts(first), 1, 2) if outermost else _row_counts(first):
            with suppress(UndecidedSizeError):
                group = _Growth(steps, flow, rows).group(position)
                if group is None:
                    continue
                most = max(most_row_bytes, COPIED_ROW_BYTES) if _copies(group) else most_row_bytes
                if group.row_bytes <= most:
                    yield group


def _copies(group: RowGroup) -> bool:
    """Whether all that members leave for each other are copies."""
    nests = (member.nest for member in group.members)
    writers = (
        n for n in nests if isinstance(n.target, FlatView) and n.target.viewed in group.local
    )
    return all(nest.body is None and isinstance(nest.result, Load) for nest in writers)


def _kept_bytes_and_rows(group: RowGroup) -> tuple[int, int]:
    return nominal(group.local_bytes), nominal(group.rows)


def _row_counts(nest: Nest) -> Iterator[int]:
    """Into how many rows a nest's result may be cut: at each of its axes, or the parts of a sum."""
    form = axis_affine(nest.index)
    if form is None:
        return
    rows = 1
    yield rows
    if nest.carried:
        before = nest.axes[: nest.axes.index(nest.carried[-1]) + 1]
        yield prod(axis.extent for axis in before)
        return
    for axis in sorted(nest.axes, key=lambda axis: -form.coefficient(axis)):
        rows *= axis.extent
        yield rows


def _have_common_loops(members: Sequence[Member]) -> bool:
    """Whether all row axes can be cut into the same loops: 4 * 6 and 24 can, 6 * 4 cannot join."""
    counts = sorted({count for member in members for count in member.counts}, key=nominal)
    return all(larger % smaller == 0 for smaller, larger in pairwise(counts))


class _Flow:
    """Which steps of a program read and write which tensors."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[Tensor]) -> None:
        self.outputs = frozenset(outputs)
        self._loads = {step: _loads(step) for step in steps}
        self._forms: dict[Scalar, Affine | None] = {}
        self.reads = {step: _read(step, self._loads[step]) for step in steps}
        self.written = {step: _written(step) for step in steps}
        self.sliding = {step: sliding_axes(step) for step in steps if isinstance(step, Nest)}
        self._parts = Counter(self.written.values())
        self._readers: dict[Tensor, list[Step]] = {}
        for step, tensors in self.reads.items():
            for tensor in tensors:
                self._readers.setdefault(tensor, []).append(step)

    def readers(self, tensor: Tensor) -> Sequence[Step]:
        """The steps that read a tensor."""
        return self._readers.get(tensor, ())

    def loads_of(self, nest: Step, tensor: Tensor) -> Iterator[Load]:
        """The loads of a step that read a tensor."""
        for load in self._loads[nest]:
            if isinstance(load.tensor, FlatView) and load.tensor.viewed is tensor:
                yield load

    def form(self, index: Scalar) -> Affine | None:
        """An index of a step as an affine form."""
        if index not in self._forms:
            self._forms[index] = axis_affine(index)
        return self._forms[index]

    def is_whole(self, nest: Nest) -> bool:
        """Whether a nest writes all of its tensor."""
        return self._parts[self.written[nest]] == 1

    def depending(self, steps: Sequence[Step], members: set[Nest]) -> set[Step]:
        """The other steps that need what the members compute, directly or not."""
        changed = {self.written[nest] for nest in members}
        found: set[Step] = set()
        for step in steps:
            if step not in members and self.reads[step] & changed:
                found.add(step)
                changed.add(self.written[step])
        return found


def _loads(step: Step) -> tuple[Load, ...]:
    if isinstance(step, ProcedureOutput):
        return ()
    return tuple(load for root in step.roots for load in loads(root))


def _read(step: Step, read: Sequence[Load]) -> frozenset[Tensor]:
    if isinstance(step, ProcedureOutput):
        return frozenset(step.procedure.inputs)
    loaded = (load.tensor for load in read)
    return frozenset(tensor.viewed for tensor in loaded if isinstance(tensor, FlatView))


def _written(step: Step) -> Tensor:
    if isinstance(step, ProcedureOutput):
        return step
    assert isinstance(step.target, FlatView)
    return step.target.viewed


class _Growth:
    """Growing a group with a number of rows from some of a program's steps."""

    def __init__(self, steps: Sequence[Step], flow: _Flow, rows: int) -> None:
        self._steps = steps
        self._flow = flow
        self._rows = rows
        self._members: dict[Nest, tuple[RowAxis, ...]] = {}
        self._targets: set[Tensor] = set()
        self._kept_to_rows: set[Tensor] = set()

    def group(self, place: int) -> RowGroup | None:
        """The group that begins with a step; None if nothing joins it."""
        first = self._steps[place]
        assert isinstance(first, Nest)
        if not self._join(first, frozenset()):
            return None
        after: set[Tensor] = set()
        for step in self._steps[place + 1 :]:
            reads = self._flow.reads[step]
            mine = reads & self._targets
            if not mine and not reads & after:
                continue
            joins = isinstance(step, Nest) and not reads & after and self._join(step, mine)
            if not joins or self._flow.written[step] not in self._targets:
                after.add(self._flow.written[step])
        for step in reversed(self._steps):
            if isinstance(step, Nest) and step not in self._members:
                self._join_in_front(step)
        local = self._local()
        if len(self._members) < 2 or not local:
            return None
        ordered = [step for step in self._steps if isinstance(step, Nest) and step in self._members]
        members = tuple(Member(nest, self._members[nest]) for nest in ordered)
        return RowGroup(members, self._rows, local) if _have_common_loops(members) else None

    def _join(self, nest: Nest, shared: frozenset[Tensor]) -> bool:
        """Take in a nest that reads the `shared` results of members, if it keeps to their rows.

        A nest that writes only a part of its tensor is the last: no member may read the tensor.
        """
        if not shared <= self._kept_to_rows:
            return False
        if nest.carried:
            return not shared and self._join_carried(nest)
        stored = self._rows_of(nest, nest.index, nest.target)
        loaded = {rows for tensor in shared for rows in self._loaded_rows(nest, tensor)}
        rows = next(iter(loaded), stored)
        if rows is None or len(loaded) > 1:
            return False
        self._add(nest, rows, stored)
        return True

    def _join_carried(self, nest: Nest) -> bool:
        """Take in a nest whose operands are parts of its sum: a row has one of each operand.

        It is the last: no member may read what it adds up over several rows.
        """
        loaded = {self._rows_of(nest, each.indices[0], each.tensor) for each in loads(nest.body)}
        rows = loaded.pop()
        if rows is None or loaded:
            return False
        self._members[nest] = rows
        return True

    def _join_in_front(self, nest: Nest) -> None:
        """Take in a nest all of whose readers are members that read it row by row."""
        target = self._flow.written[nest]
        readers = self._flow.readers(target)
        stored = self._rows_of(nest, nest.index, nest.target)
        if target in self._flow.outputs or stored is None or not self._flow.is_whole(nest):
            return
        for reader in readers:
            rows = self._members.get(reader) if isinstance(reader, Nest) else None
            if rows is None or set(self._loaded_rows(reader, target)) != {rows}:
                return
        if readers:
            self._add(nest, stored, stored)

    def _add(
        self, nest: Nest, rows: tuple[RowAxis, ...], stored: tuple[RowAxis, ...] | None
    ) -> None:
        target = self._flow.written[nest]
        self._members[nest] = rows
        if not self._flow.is_whole(nest):
            return
        self._targets.add(target)
        if rows == stored:
            self._kept_to_rows.add(target)

    def _loaded_rows(self, nest: Step, tensor: Tensor) -> Iterator[tuple[RowAxis, ...] | None]:
        assert isinstance(nest, Nest)
        for load in self._flow.loads_of(nest, tensor):
            yield self._rows_of(nest, load.indices[0], load.tensor, ends_of(nest, load))

    def _rows_of(
        self, nest: Nest, index: Scalar, view: Tensor, ends: Mapping[Axis, int] = NO_ENDS
    ) -> tuple[RowAxis, ...] | None:
        """The axes that count the rows of an access; None where open sizes leave that open, too.

        Some axes have `ends` of their own there.
        """
        with suppress(UndecidedSizeError):
            return self._decided_rows_of(nest, index, view, ends)
        return None

    def _decided_rows_of(
        self, nest: Nest, index: Scalar, view: Tensor, ends: Mapping[Axis, int]
    ) -> tuple[RowAxis, ...] | None:
        elements, form = prod(view.shape), self._flow.form(index)
        if form is None or not is_multiple(elements, self._rows):
            return None
        size = elements // self._rows
        rows = row_axes(form, nest.axes, nest.reduction, self._rows, size, ends)
        return None if rows is None or self._tears_window(nest, rows) else rows

    def _tears_window(self, nest: Nest, rows: tuple[RowAxis, ...]) -> bool:
        """Whether rows cut a nest along more than one axis of a sliding window.

        Neighbours on the inner axes stay together, since they read the same elements.
        """
        return sum(row.axis in self._flow.sliding[nest] for row in rows) > 1

    def _local(self) -> tuple[Tensor, ...]:
        """What members write and read in rows, and nothing else needs."""
        found = []
        for nest in self._members:
            target = self._flow.written[nest]
            readers = self._flow.readers(target)
            inside = all(reader in self._members for reader in readers)
            if target in self._kept_to_rows and target not in self._flow.outputs and inside:
                found.append(target)
        return tuple(found)
