"""What a tuning run achieved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task after a run; times are seconds of one execution, None if nothing ran correctly.

    Attributes:
        title: the primitive in words.
        digest: of its key.
        weight: how often the model runs it.
        trials: candidates that the log holds.
        default_seconds: time of the default schedule.
        best_seconds: time of the best schedule.
        limit_seconds: what the machine can reach at most, None if not known.
        operations: arithmetic operations.
        nodes: the main node of each place where the model runs it, by name, each once.
        reason: why no more candidates were measured; empty if the budget ended.
    """

    title: str
    digest: str
    weight: int
    trials: int
    default_seconds: float | None
    best_seconds: float | None
    limit_seconds: float | None
    operations: int
    reason: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkTimes:
    """Seconds of one run of the whole network, with default and with tuned schedules."""

    untuned: float
    tuned: float


@dataclass(frozen=True, slots=True)
class TuningResult:
    """A tuning run.

    Attributes:
        tasks: one result for each task.
        measured: candidates measured by this run.
        seconds: how long it took.
        interrupted: whether the user ended it early; what was measured is in the log.
        outcomes: how many candidates of this run ended how.
        network: the whole network in the end; None where it was not run.
    """

    tasks: tuple[TaskResult, ...]
    measured: int
    seconds: float
    interrupted: bool = False
    outcomes: Mapping[str, int] = field(default_factory=Counter)
    network: NetworkTimes | None = None

    @property
    def model_seconds(self) -> float | None:
        """The model's time as the sum of its tasks' best times; None if one has none."""
        return _total([(task.weight, task.best_seconds) for task in self.tasks])

    @property
    def default_model_seconds(self) -> float | None:
        """The same with default schedules."""
        return _total([(task.weight, task.default_seconds) for task in self.tasks])


def _total(parts: list[tuple[int, float | None]]) -> float | None:
    total = 0.0
    for weight, seconds in parts:
        if seconds is None:
            return None
        total += weight * seconds
    return total
