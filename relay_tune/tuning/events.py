"""Events of a tuning run, sent while it runs."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import disturbed_text
from relay_tune.runtime.measuring.measurement import Outcome


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The tasks are known.

    Attributes:
        tasks: how many there are.
        known: records that the log holds for them.
        trials: candidates that may be measured in all.
        seconds: time that the run may take.
    """

    tasks: int
    known: int
    trials: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A round of candidates of this task begins; `number` counts tasks from 1."""

    title: str
    digest: str
    number: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate was measured.

    Attributes:
        title: of the task.
        digest: of the task.
        outcome: how it ended.
        seconds: its time, if it has one.
        message: why it failed.
        best: the best time of the task so far.
        model_seconds: the sum over the model of the best times; None while a task has none.
        limit_share: the best time as a share of what the machine can reach; above 1 where data come
            from nearer caches than they were measured in.
        limit_name: what limits the task: `compute`, a cache, or `memory`; empty if not known.
        operations: of one run, as the program is written.
        bytes: that one run reads or writes at least once.
        trials: candidates spent of the budget.
        rate: candidates a second.
        eta_seconds: seconds until the run ends at the latest.
    """

    title: str
    digest: str
    outcome: Outcome
    seconds: float | None
    message: str
    best: float | None
    model_seconds: float | None
    limit_share: float | None
    limit_name: str
    operations: int
    bytes: int
    trials: int
    rate: float
    eta_seconds: float


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """No more candidates of a task are worth measuring, for a reason in words."""

    title: str
    digest: str
    reason: str
    best: float | None


@dataclass(frozen=True, slots=True)
class CostModelFailed:
    """The learned ranking is given up; the analytic estimate ranks from here on."""

    message: str

    def __str__(self) -> str:
        return f"the cost model is given up: {self.message}"


@dataclass(frozen=True, slots=True)
class RatesDisturbed:
    """So many rates of the machine did not repeat: other work was running beside."""

    rates: int

    def __str__(self) -> str:
        return f"beside other work: {disturbed_text(self.rates)}"


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """Something other than the search begins, or goes on.

    Attributes:
        name: what, such as `planning`.
        done: how many parts of it are done.
        parts: how many there are; 0 where it has none.
    """

    name: str
    done: int = 0
    parts: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.done}/{self.parts}" if self.parts else self.name


Event = (
    RunStarted
    | TaskStarted
    | Measured
    | TaskFinished
    | CostModelFailed
    | RatesDisturbed
    | PhaseStarted
)

Progress = Callable[[Event], None]
"""Called with each event, in the thread that tunes."""


def ignore(event: Event) -> None:
    """A progress callback that does nothing."""
