"""Shared state of all parts of a tuning run."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.budget import Budget
from relay_tune.tuning.events import Progress
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.runner import Runner
from relay_tune.tuning.task_state import TaskState


@dataclass(frozen=True, eq=False, slots=True)
class Session:
    """A tuning run's tasks, means and reports.

    Attributes:
        states: those of a model's tasks that leave anything to choose.
        runner: measures candidates.
        keeper: the log.
        budget: what may be spent.
        progress: is told what happens.
    """

    states: Sequence[TaskState]
    runner: Runner
    keeper: LogKeeper
    budget: Budget
    progress: Progress
