"""Which tasks came to an end in earlier runs, as the log remembers it, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import logs
from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import algorithm_of
from relay_tune.tuning.marks import MarkKind
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.task_result import TaskResult
from relay_tune.tuning.tasks import Task

UNNAMED = Accuracy.RELAXED
"""The accuracy of marks without one: what was `fast` then allowed all algorithms."""


@dataclass(frozen=True, slots=True)
class FinishedMark:
    """That the search of a task came to an end.

    Attributes:
        scope: what it was measured for.
        share: the budget of the run, in candidates for each task.
        default: the JSON text of the default schedule; empty where there is nothing to choose.
        accuracy: the accuracy whose algorithms were searched.
        records: how many the log had, of those that finish what they measured.
    """

    scope: TuningScope
    share: float
    default: str
    accuracy: Accuracy = Accuracy.FAST
    records: int = 0

    def to_json(self) -> object:
        """See `Mark.to_json`."""
        scope = self.scope
        return [
            scope.target,
            scope.threads,
            scope.code_version,
            self.share,
            self.default,
            str(self.accuracy),
            self.records,
        ]


def _read(mark: object) -> FinishedMark | None:
    match mark:
        case [str(target), int(threads), str(version), int() | float() as share, str(default)]:
            scope = TuningScope(target, threads, version)
            return FinishedMark(scope, float(share), default, UNNAMED)
        case [*earlier, str(accuracy)] if accuracy in list(Accuracy):
            found = _read(earlier)
            return None if found is None else replace(found, accuracy=Accuracy(accuracy))
        case [*earlier, str(accuracy), int(records)] if accuracy in list(Accuracy):
            found = _read([*earlier, accuracy])
            return None if found is None else replace(found, records=records)
    return None


FINISHED = MarkKind("finished", _read)
FINISHED_EARLIER = "finished by an earlier run"


def earlier_result(
    task: Task, mark: FinishedMark, records: Sequence[logs.Record]
) -> TaskResult | None:
    """Result of a task in earlier runs; None where there was nothing to choose."""
    if not mark.default:
        return None
    plan = task.plan.with_accuracy(mark.accuracy)
    times = {
        record.schedule: record.seconds
        for record in records
        if record.status == "ok" and _is_allowed(record.schedule, plan)
    }
    correct = [seconds for seconds in times.values() if seconds is not None]
    return TaskResult(
        title=task.title,
        digest=task.key.digest,
        weight=task.weight,
        trials=len(records),
        default_seconds=times.get(mark.default),
        best_seconds=min(correct, default=None),
        limit_seconds=None,
        operations=task.operations,
        nodes=task.nodes,
        reason=FINISHED_EARLIER,
    )


def _is_allowed(schedule: str, plan: Plan) -> bool:
    """Whether a schedule's JSON text has a known algorithm that a plan allows."""
    try:
        return plan.allows(algorithm_of(schedule, plan.known))
    except InputError:
        return False
