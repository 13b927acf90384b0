"""Groups of nests that run over blocks of rows: `rows(block=8)` has blocks of 8.

    direct:          for i in 0 .. 64: e[i] = exp(x[i]);    for i in 0 .. 64: y[i] = e[i] / s[i]
    rows(block=8):   for b in 0 .. 8: for r in 0 .. 8: e'[r] = ..;  for r in 0 .. 8: y[8 b + r] = ..

Stages are as they are written; `row_groups` finds the groups and makes their loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters, parameter
from relay_tune.schedule.rewrites.copied_rows import COPIED_ROWS
from relay_tune.schedule.rewrites.partial_sums import PARTIAL_SUMS
from relay_tune.schedule.rewrites.split import SPLIT
from relay_tune.schedule.row_groups.grouped_steps import grouped_steps
from relay_tune.schedule.row_groups.groups import RowGroup, Step, with_groups
from relay_tune.schedule.row_groups.in_place import in_place
from relay_tune.schedule.row_groups.row_blocks import (
    MAXIMUM_LOCAL_BYTES,
    MOST_SINGLE_ROWS,
    RowBlocks,
    block_bytes,
    common_extents,
    cut_rows,
    room_bytes,
    row_blocks,
)
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import UndecidedSizeError, is_symbolic, nominal
from relay_tune.tensor.walk import loads

ROW_COUNTS = (1, 2, 4, 8, 16, 32, 64)
"""Rows of a block. Few keep more in the nearest cache, many reuse more of what all rows read."""

NEAR_BYTES = 256 << 10
"""Blocks whose local tensors take more are not tried."""


@dataclass(frozen=True, slots=True)
class Rows(Parameters):
    """Parameters of rows.

    Attributes:
        block: the rows of a block.
    """

    block: int = parameter(among=range(1, 10_000))


def _offers(
    program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
) -> Iterator[Parameters]:
    """Blocks that are worth a look; none where groups depend on sizes that are open."""
    with suppress(UndecidedSizeError):
        yield from map(Rows, _row_counts(nests, program.outputs))


def _row_counts(steps: Sequence[Step], outputs: Sequence[Tensor]) -> tuple[int, ...]:
    """The rows of blocks that are worth a look for a program's steps."""
    groups = [in_place(step) for step in with_groups(steps, outputs) if isinstance(step, RowGroup)]
    found: dict[tuple[int, ...], int] = {}
    is_open = any(is_symbolic(common_extents(group)[-1]) for group in groups)
    is_bounded = any(map(is_symbolic, (group.row_bytes for group in groups)))
    for rows in ROW_COUNTS:
        if is_open and not is_bounded and rows > MOST_SINGLE_ROWS:
            break
        cut = tuple(cut_rows(group, rows) for group in groups)
        if all(_is_near(group, n) for group, n in zip(groups, cut, strict=True)):
            found.setdefault(cut, rows)
    if not groups or not found or not all(_has_known_blocks(group) for group in groups):
        return ()
    return tuple(found.values())


def _is_near(group: RowGroup, rows: int) -> bool:
    """Whether the local tensors of a block stay near, and have room whatever open sizes are."""
    is_small = nominal(block_bytes(group, rows)) <= NEAR_BYTES
    return is_small and room_bytes(group, rows) <= MAXIMUM_LOCAL_BYTES


def _has_known_blocks(group: RowGroup) -> bool:
    """Whether all that is open of a group is how many rows there are, or rows have a longest."""
    if is_symbolic(group.row_bytes):
        return True  # they have room
    return all(_is_known(nest) for nest in row_blocks(group, 1).nests)


def _is_known(nest: Nest) -> bool:
    """Whether extents and strides of a nest are numbers."""
    extents = [axis.extent for axis in (*nest.axes, *nest.reduction)]
    indices = [index for root in nest.roots for load in loads(root) for index in load.indices]
    forms = [axis_affine(index) for index in (*indices, nest.index)]
    strides = [step for form in forms if form is not None for step in form.terms.values()]
    return not any(is_symbolic(size) for size in (*extents, *strides))


def _grouped(
    nests: Sequence[Step], outputs: Sequence[Tensor], parameters: Rows
) -> Sequence[Step | RowBlocks]:
    return grouped_steps(nests, outputs, parameters.block)


ROWS = Algorithm(
    "rows", _offers, Rows, grouped=_grouped, follows=(SPLIT, PARTIAL_SUMS, COPIED_ROWS)
)
"""Groups of nests that share rows, in blocks of these."""
