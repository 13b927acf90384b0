"""The algorithms in which groups of nests run over blocks of rows: "rows8" has blocks of 8."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relay_tune.schedule.nest import Nest
from relay_tune.schedule.row_groups.groups import MAXIMUM_ROW_BYTES, RowGroup, Step, with_groups
from relay_tune.schedule.row_groups.in_place import in_place
from relay_tune.schedule.row_groups.row_blocks import (
    RowBlocks,
    block_bytes,
    common_extents,
    cut_rows,
    row_blocks,
)
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.walk import loads

ROW_COUNTS = (1, 2, 4, 8, 16, 32, 64)
"""Rows of a block. Few keep more in the nearest cache, many reuse more of what all rows read."""

MOST_OPEN_ROWS = 4
"""Rows of a block where it is open how many there are: what is left runs row by row."""

NEAR_BYTES = 256 << 10
"""Blocks whose local tensors take more are not tried."""


def rows_algorithm(rows: int) -> str:
    """The name of the algorithm with blocks of so many rows."""
    return f"rows{rows}"


def rows_of(algorithm: str) -> int | None:
    """The rows of a block under an algorithm; None if it has no such blocks."""
    found = re.fullmatch(r"rows([1-9][0-9]{0,3})", algorithm)
    return None if found is None else int(found[1])


def row_algorithms(steps: Sequence[Step], outputs: Sequence[Tensor]) -> tuple[str, ...]:
    """The algorithms with blocks of rows that are worth a look for a program's steps."""
    groups = [in_place(step) for step in with_groups(steps, outputs) if isinstance(step, RowGroup)]
    found: dict[tuple[int, ...], int] = {}
    is_open = any(is_symbolic(common_extents(group)[-1]) for group in groups)
    for rows in ROW_COUNTS:
        if is_open and rows > MOST_OPEN_ROWS:
            break
        cut = tuple(cut_rows(group, rows) for group in groups)
        if all(block_bytes(g, n) <= NEAR_BYTES for g, n in zip(groups, cut, strict=True)):
            found.setdefault(cut, rows)
    if not groups or not found or not all(_has_known_blocks(group) for group in groups):
        return ()
    return tuple(rows_algorithm(rows) for rows in found.values())


def _has_known_blocks(group: RowGroup) -> bool:
    """Whether all that is open of a group is how many rows there are, not what one of them is."""
    return all(_is_known(nest) for nest in row_blocks(group, 1).nests)


def _is_known(nest: Nest) -> bool:
    """Whether extents and strides of a nest are numbers."""
    extents = [axis.extent for axis in (*nest.axes, *nest.reduction)]
    indices = [place for root in nest.roots for load in loads(root) for place in load.indices]
    forms = [axis_affine(place) for place in (*indices, nest.index)]
    strides = [step for form in forms if form is not None for step in form.terms.values()]
    return not any(is_symbolic(size) for size in (*extents, *strides))


def grouped_steps(
    steps: Sequence[Step],
    outputs: Sequence[Tensor],
    rows: int,
    *,
    most_row_bytes: int = MAXIMUM_ROW_BYTES,
) -> tuple[Step | RowBlocks, ...]:
    """The steps of a program with its groups in blocks of rows.

    Nests whose intermediate values of one row take more than `most_row_bytes` form no group.
    Raises InputError if the blocks are too large.
    """
    return tuple(
        row_blocks(in_place(step), rows) if isinstance(step, RowGroup) else step
        for step in with_groups(steps, outputs, most_row_bytes)
    )
