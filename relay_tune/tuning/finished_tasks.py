"""Which tasks came to an end in earlier runs, as the log remembers it, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import logs
from relay_tune.tuning.marks import MarkKind
from relay_tune.tuning.result import TaskResult
from relay_tune.tuning.scope import Scope
from relay_tune.tuning.tasks import Task


@dataclass(frozen=True, slots=True)
class FinishedMark:
    """That the search of a task came to an end.

    Attributes:
        scope: what it was measured for.
        share: the budget of the run, in candidates for each task.
        default: the JSON text of the default schedule; empty where there is nothing to choose.
    """

    scope: Scope
    share: float
    default: str

    def to_json(self) -> object:
        """See `Mark.to_json`."""
        scope = self.scope
        return [scope.target, scope.threads, scope.code_version, self.share, self.default]


def _read(mark: object) -> FinishedMark | None:
    match mark:
        case [str(target), int(threads), str(version), (int() | float()) as share, str(default)]:
            return FinishedMark(Scope(target, threads, version), float(share), default)
    return None


FINISHED = MarkKind("finished", _read)
FINISHED_EARLIER = "finished by an earlier run"


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
