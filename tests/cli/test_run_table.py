"""The table of kernels after a tuning run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relay_tune.cli.run_table import MOST_ROWS, kernel_rows, kernel_table
from relay_tune.tuning.task_result import TaskResult

FIRST = TaskResult("fc: dense 4x8", "a", 2, 3, 2e-3, 1e-3, 5e-4, 1000, nodes=("fc",))
SECOND = TaskResult("act: relu 4x8", "b", 1, 1, 6e-3, 6e-3, None, 10, nodes=("act",), holds=False)


def test_the_kernel_that_takes_most_time_comes_first() -> None:
    rows = kernel_rows([FIRST, SECOND])
    assert [row.task.title for row in rows] == ["act: relu 4x8", "fc: dense 4x8"]
    assert [row.share for row in rows] == [pytest.approx(0.75), pytest.approx(0.25)]
    assert rows[1].fields()["limit_share"] == 0.5
    assert rows[1].fields()["nodes"] == ("fc",)


def test_a_schedule_that_does_not_hold_is_told() -> None:
    _, first, second = kernel_table([FIRST, SECOND]).splitlines()
    assert first.endswith("act: relu 4x8  (slower in the network: the untuned one is used)")
    assert second.split() == "25.0% 2 ms 1 ms 50% 3 2 x fc: dense 4x8".split()


def test_kernels_that_never_ran_have_no_numbers() -> None:
    never = replace(FIRST, default_seconds=None, best_seconds=None)
    assert kernel_rows([never, SECOND])[0].share is None
    assert "-      -        -      -" in kernel_table([never])


def test_many_kernels_are_one_row_at_the_end() -> None:
    tasks = [replace(FIRST, digest=str(n)) for n in range(MOST_ROWS + 3)]
    lines = kernel_table(tasks).splitlines()
    assert len(lines) == 1 + MOST_ROWS + 1
    assert lines[-1].split(maxsplit=2)[2] == "3 others (--json has them all)"
