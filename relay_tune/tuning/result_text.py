"""The result of a tuning run, for the prompt and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from relay_tune.runtime.describe import counted
from relay_tune.tuning.task_result import TaskResult


def microseconds(seconds: float | None) -> str:
    """A time of a kernel or a network; `-` for None."""
    return "-" if seconds is None else f"{seconds * 1e6:.4g} us"


def result_text(
    tasks: Sequence[TaskResult],
    timed: Sequence[TaskResult],
    measured: int,
    seconds: float,
    interrupted: bool,
) -> str:
    """A line such as `18 kernels, 97 candidates in 60 s, by themselves 3020 us -> 2310 us`.

    The times are those of the tasks in `timed`.
    """
    before = total_seconds((task.weight, task.default_seconds) for task in timed)
    after = total_seconds((task.weight, task.best_seconds) for task in timed)
    gain = f" ({before / after:.2f}x)" if before and after else ""
    ended = ", interrupted" if interrupted else ""
    some = "" if len(timed) == len(tasks) else f"{len(timed)} of them timed, "
    times = f"{some}kernels by themselves {microseconds(before)} -> {microseconds(after)}{gain}"
    done = f"{counted(len(tasks), 'kernel')}, {counted(measured, 'candidate')}"
    return f"{done} in {seconds:.0f} s, {times}{ended}"


def result_html(head: str, tasks: Sequence[TaskResult]) -> str:
    """A table of the kernels, the one that takes most time first."""
    ordered = sorted(tasks, key=lambda task: -task.weight * (task.best_seconds or 0.0))
    titles = ("kernel", "runs", "default", "best", "of the limit", "candidates")
    cells = "".join(f"<th>{title}</th>" for title in titles)
    rows = "".join(_row(task) for task in ordered)
    return f"<div><b>TuningResult</b> {escape(head)}<table><tr>{cells}</tr>{rows}</table></div>"


def _row(task: TaskResult) -> str:
    share = "-"
    if task.limit_seconds is not None and task.best_seconds:
        share = f"{task.limit_seconds / task.best_seconds:.0%}"
    values = (
        task.title,
        f"{task.weight}",
        microseconds(task.default_seconds),
        microseconds(task.best_seconds),
        share,
        f"{task.trials}",
    )
    return f"<tr>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"


def total_seconds(parts: Iterable[tuple[int, float | None]]) -> float | None:
    """The sum of times, each so often as its number says; None if one is missing."""
    total = 0.0
    for weight, seconds in parts:
        if seconds is None:
            return None
        total += weight * seconds
    return total
