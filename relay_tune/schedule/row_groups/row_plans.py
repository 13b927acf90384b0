"""The algorithms in which groups of nests run over blocks of rows: "rows8" has blocks of 8."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relay_tune.schedule.row_groups.groups import MAXIMUM_ROW_BYTES, RowGroup, Step, with_groups
from relay_tune.schedule.row_groups.in_place import in_place
from relay_tune.schedule.row_groups.row_blocks import (
    RowBlocks,
    block_bytes,
    common_extents,
    row_blocks,
)
from relay_tune.tensor.expression import Tensor

ROW_COUNTS = (1, 2, 4, 8, 16, 32, 64)
"""Rows of a block. Few keep more in the nearest cache, many reuse more of what all rows read."""

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
    for rows in ROW_COUNTS:
        cut = tuple(min(rows, common_extents(group)[-1]) for group in groups)
        if all(block_bytes(g, n) <= NEAR_BYTES for g, n in zip(groups, cut, strict=True)):
            found.setdefault(cut, rows)
    return tuple(rows_algorithm(rows) for rows in found.values()) if groups else ()


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
