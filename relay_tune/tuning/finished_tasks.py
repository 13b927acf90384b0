"""Which tasks came to an end in earlier runs, as the log remembers it, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import logs
from relay_tune.tuning.result import TaskResult
from relay_tune.tuning.tasks import Task


@dataclass(frozen=True, slots=True)
class FinishedMark:
    """That the search of a task came to an end.

    Attributes:
        target, threads, code_version: what it was measured for.
        share: the budget of the run, in candidates for each task.
        default: the JSON text of the default schedule; empty where there is nothing to choose.
    """

    target: str
    threads: int
    code_version: str
    share: float
    default: str


def finished_of(description: Mapping[str, Any]) -> list[FinishedMark]:
    """The marks in the log's description of a task; malformed ones are passed over."""
    marks = description.get("finished", [])
    found = [_read(mark) for mark in marks] if isinstance(marks, list) else []
    return [mark for mark in found if mark is not None]


def with_finished(marks: Sequence[FinishedMark], mark: FinishedMark) -> list[list[object]]:
    """The marks as JSON values, with a new one in the place of the one for the same scope."""
    others = [other for other in marks if _scope(other) != _scope(mark)]
    return [[*_scope(item), item.share, item.default] for item in (*others, mark)]


def earlier_result(
    task: Task, mark: FinishedMark, records: Sequence[logs.Record]
) -> TaskResult | None:
    """What earlier runs made of a task; None where there was nothing to choose."""
    if not mark.default:
        return None
    times = {record.schedule: record.seconds for record in records if record.status == "ok"}
    correct = [seconds for seconds in times.values() if seconds is not None]
    return TaskResult(
        title=task.key.title,
        digest=task.key.digest,
        weight=task.weight,
        trials=len(records),
        default_seconds=times.get(mark.default),
        best_seconds=min(correct, default=None),
        limit_seconds=None,
        operations=task.operations,
        reason=FINISHED_EARLIER,
    )


FINISHED_EARLIER = "finished by an earlier run"


def _scope(mark: FinishedMark) -> tuple[str, int, str]:
    return mark.target, mark.threads, mark.code_version


def _read(mark: object) -> FinishedMark | None:
    match mark:
        case [str(target), int(threads), str(version), (int() | float()) as share, str(default)]:
            return FinishedMark(target, threads, version, float(share), default)
    return None
