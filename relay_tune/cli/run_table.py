"""The kernels of a tuning run as a table: where the time goes, and what tuning changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from relay_tune.cli.units import table_text, time_text
from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.task_result import TaskResult

MOST_ROWS = 20
"""Kernels that the text shows; the others are one row. JSON has all."""

HEAD = ("share", "untuned", "tuned", "of limit", "candidates", "kernel")


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel after a run.

    Attributes:
        task: what became of it.
        share: its part of the time of all kernels, each by itself; None where one has no time.
    """

    task: TaskResult
    share: float | None

    @property
    def limit_share(self) -> float | None:
        """The least time that the machine needs as a part of the tuned one."""
        limit, best = self.task.limit_seconds, self.task.best_seconds
        return limit / best if limit and best else None

    def fields(self) -> dict[str, object]:
        """The row as JSON values."""
        return {**asdict(self.task), "share": self.share, "limit_share": self.limit_share}

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        task = self.task
        runs = f"{task.weight} x " if task.weight > 1 else ""
        stays = "  (slower in the network: the untuned one is used)" if task.holds is False else ""
        return (
            "-" if self.share is None else f"{self.share:.1%}",
            time_text(task.default_seconds),
            time_text(task.best_seconds),
            "-" if self.limit_share is None else f"{self.limit_share:.0%}",
            f"{task.trials}",
            f"{runs}{task.title}{stays}",
        )


def kernel_rows(tasks: Sequence[TaskResult]) -> list[KernelRow]:
    """One row for each kernel, the one that takes most time first."""
    total = sum(map(_seconds, tasks))
    known = total > 0 and all(task.best_seconds is not None for task in tasks)
    rows = [KernelRow(task, _seconds(task) / total if known else None) for task in tasks]
    return sorted(rows, key=lambda row: -_seconds(row.task))


def kernel_table(tasks: Sequence[TaskResult]) -> str:
    """The rows as text; times are of one run of a kernel, shares of all its runs."""
    rows = kernel_rows(tasks)
    shown = [row.cells() for row in rows[:MOST_ROWS]]
    rest = rows[MOST_ROWS:]
    if rest:
        shares = [row.share for row in rest if row.share is not None]
        share = f"{sum(shares):.1%}" if len(shares) == len(rest) else "-"
        trials = f"{sum(row.task.trials for row in rest)}"
        shown.append((share, "", "", "", trials, f"{len(rest)} others (--json has them all)"))
    return table_text([HEAD, *shown])


def _seconds(task: TaskResult) -> float:
    """The time of all runs of a kernel in one run of the network."""
    return task.weight * (task.best_seconds or 0.0)
