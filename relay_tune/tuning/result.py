"""Results of a tuning run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.network_times import NetworkTimes
from relay_tune.tuning.result_text import microseconds, result_html, result_text, total_seconds
from relay_tune.tuning.task_result import TaskResult


@dataclass(frozen=True, slots=True, repr=False)
class TuningResult:
    """A tuning run.

    Attributes:
        tasks: one result for each task.
        measured: candidates measured by this run.
        seconds: how long it took.
        interrupted: whether the user ended it early; what was measured is in the log.
        out_of_time: whether the time was over while there was something left to measure.
        network_seconds: what timing the whole network takes at least, by what planning its kernels
            took.
        outcomes: how many candidates of this run ended how.
        network: the whole network in the end; None where it was not run.
        run: the number that the log gave this run.
    """

    tasks: tuple[TaskResult, ...]
    measured: int
    seconds: float
    interrupted: bool = False
    outcomes: Mapping[str, int] = field(default_factory=Counter)
    network: NetworkTimes | None = None
    out_of_time: bool = False
    network_seconds: float = 0.0
    run: int | None = None

    @property
    def timed(self) -> tuple[TaskResult, ...]:
        """The tasks whose default and best schedules both have a time."""
        return tuple(
            task
            for task in self.tasks
            if task.default_seconds is not None and task.best_seconds is not None
        )

    @property
    def model_seconds(self) -> float | None:
        """The model's time as the sum of its tasks' best times; None if one has none."""
        return total_seconds((task.weight, task.best_seconds) for task in self.tasks)

    @property
    def default_model_seconds(self) -> float | None:
        """The same with default schedules."""
        return total_seconds((task.weight, task.default_seconds) for task in self.tasks)

    def __repr__(self) -> str:
        """Kernels, candidates and times, before and after."""
        return f"<TuningResult {self._text}>"

    def _repr_html_(self) -> str:
        """The same with a table of the kernels, for notebooks."""
        return result_html(self._text, self.tasks)

    @property
    def _text(self) -> str:
        text = result_text(self.tasks, self.timed, self.measured, self.seconds, self.interrupted)
        if self.network is None:
            return text
        untuned, tuned = microseconds(self.network.untuned), microseconds(self.network.tuned)
        return f"{text}, whole network {untuned} -> {tuned}"
