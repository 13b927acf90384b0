"""The steps of a program with its groups in blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.schedule.row_groups.counted_rows import counted_together
from relay_tune.schedule.row_groups.groups import MAXIMUM_ROW_BYTES, RowGroup, Step, with_groups
from relay_tune.schedule.row_groups.in_place import in_place
from relay_tune.schedule.row_groups.row_blocks import RowBlocks, row_blocks
from relay_tune.tensor.expression import Tensor


def grouped_steps(
    steps: Sequence[Step],
    outputs: Sequence[Tensor],
    rows: int,
    *,
    most_row_bytes: int = MAXIMUM_ROW_BYTES,
    in_runs: bool = False,
) -> tuple[Step | RowBlocks, ...]:
    """The steps of a program with its groups in blocks of rows.

    Nests whose intermediate values of one row take more than `most_row_bytes` form no group.
    With `in_runs`, rows are counted by the outermost axes alone, by one of each nest, and what is
    left of an open number of them is one block, not one for each row.
    Raises InputError if the blocks are too large.
    """
    return tuple(
        _in_blocks(step, rows, in_runs=in_runs) if isinstance(step, RowGroup) else step
        for step in with_groups(steps, outputs, most_row_bytes, outermost=in_runs)
    )


def _in_blocks(group: RowGroup, rows: int, *, in_runs: bool) -> RowBlocks:
    group = counted_together(group) if in_runs else group
    return row_blocks(in_place(group), rows, rest_together=in_runs)
