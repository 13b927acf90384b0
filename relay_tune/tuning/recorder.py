"""From drafted candidates to records: claimed, prepared, measured, entered into the log.

    under_way = recorder.begin(state, drafts)  # compiling and checking go on by themselves
    rows = recorder.finish(under_way.ready())  # while nothing else runs

All candidates of a round are claimed before any of their code runs, so that other processes take
others. If the process dies, the one whose code was running may be to blame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, compress

from cost_model import Row
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning.deferred_signals import deferred_signals
from relay_tune.tuning.events import Measured
from relay_tune.tuning.log_keeper import GIVE_UP_ATTEMPTS
from relay_tune.tuning.ranking import row_of
from relay_tune.tuning.runner import Draft, Prepared
from relay_tune.tuning.session import Session
from relay_tune.tuning.task_state import TaskState

KEPT_MESSAGES = 3


@dataclass(frozen=True, eq=False, slots=True)
class UnderWay:
    """Candidates of a task that are claimed and being prepared.

    Attributes:
        state: of the task.
        prepared: the candidates.
        known: how many schedules of the task were known before the round.
    """

    state: TaskState
    prepared: Iterable[Prepared]
    known: int

    def ready(self) -> UnderWay:
        """The same once all of them are prepared; fewer where the time is over before."""
        found: list[Prepared] = []
        with suppress(TimeIsOver):
            for prepared in self.prepared:
                found.append(prepared)
        return UnderWay(self.state, found, self.known)


class Recorder:
    """Has the candidates of one run measured, and tells log, budget and progress of them.

    Attributes:
        outcomes: how often each outcome came.
        messages: of the first failures.
    """

    def __init__(self, session: Session) -> None:
        self._states = session.states
        self._runner = session.runner
        self._keeper = session.keeper
        self._budget = session.budget
        self._progress = session.progress
        self._claimed: dict[tuple[str, str], TaskState] = {}
        self.outcomes: Counter[str] = Counter()
        self.messages: list[str] = []

    def begin(self, state: TaskState, drafts: Sequence[Draft]) -> UnderWay:
        """Claim candidates of a task and begin to compile and check them."""
        known = len(state.tried)
        schedules = [draft.schedule for draft in drafts]
        with deferred_signals():
            is_mine = self._keeper.claim(state.task, schedules)
            for schedule in compress(schedules, is_mine):
                self._claimed[state.task.key.digest, schedule.to_json()] = state
        deadly = [
            Prepared(each, failure=_DEADLY)
            for each, mine in zip(schedules, is_mine, strict=True)
            if not mine and not self._take_over(state, each) and self._is_deadly(state, each)
        ]
        best = state.best_seconds
        mine = list(compress(drafts, is_mine))
        prepared = self._runner.prepare(state.task, mine, best, lambda: self._budget.searching_left)
        return UnderWay(state, chain(deadly, prepared), known)

    def finish(self, ready: UnderWay) -> list[Row]:
        """Measure and record candidates, until the budget is spent; what they teach.

        Of a run's first ones that are ready, one is measured however late it is.
        """
        state, rows = ready.state, []
        for prepared in ready.prepared:
            if self._budget.is_spent and self._budget.measured:
                break
            measurement = prepared.failure or self._runner.measure(
                state.task, prepared, state.best_seconds
            )
            features = state.space.features(prepared.schedule)
            self._record(state, prepared.schedule, measurement, features)
            self._report(state, measurement)
            if measurement.outcome is not Outcome.IMPLAUSIBLE:  # that teaches nothing
                rows.append(row_of(state.task.key.digest, features, measurement.seconds))
        return rows

    def release(self) -> None:
        """Give up what is claimed and not recorded."""
        self._keeper.release((state.task, text) for (_, text), state in self._claimed.items())
        self._claimed.clear()

    def _take_over(self, state: TaskState, schedule: Schedule) -> bool:
        """Enter the record that another process has just made of a candidate, if there is one."""
        record = self._keeper.record(state.task, schedule)
        if record is None:
            return False
        state.add(schedule, Outcome(record.status.value), record.seconds)
        self._budget.used += 1
        return True

    def _is_deadly(self, state: TaskState, schedule: Schedule) -> bool:
        """Whether processes have died at a candidate; else a living one is at it."""
        return self._keeper.killed_its_measurers(state.task, schedule)

    def _record(
        self,
        state: TaskState,
        schedule: Schedule,
        measurement: Measurement,
        features: list[float],
    ) -> None:
        """Enter a measurement into the log and the result: into both or, interrupted, neither."""
        with deferred_signals():
            self._keeper.append(state.task, schedule, measurement, features)
            self._claimed.pop((state.task.key.digest, schedule.to_json()), None)
            state.add(schedule, measurement.outcome, measurement.seconds)
            state.was_measured = True
            self._count(state, measurement)

    def _count(self, state: TaskState, measurement: Measurement) -> None:
        self._budget.spend()
        self.outcomes[measurement.outcome.value] += 1
        if measurement.outcome is not Outcome.OK and len(self.messages) < KEPT_MESSAGES:
            title = state.task.title
            self.messages.append(f"{title}: {measurement.outcome}: {measurement.message}")

    def _report(self, state: TaskState, measurement: Measurement) -> None:
        budget, key = self._budget, state.task.key
        self._progress(
            Measured(
                title=state.task.title,
                digest=key.digest,
                outcome=measurement.outcome,
                seconds=measurement.seconds,
                message=measurement.message,
                best=state.best_seconds,
                model_seconds=self._model_seconds(),
                limit_share=state.limit_share,
                limit_name=state.limit_name,
                operations=state.task.operations,
                bytes=state.task.bytes,
                trials=budget.used,
                rate=budget.rate,
                eta_seconds=budget.eta_seconds,
            )
        )

    def _model_seconds(self) -> float | None:
        if any(state.best_seconds is None for state in self._states):
            return None
        return sum(state.model_seconds for state in self._states)


_DEADLY = Measurement(
    Outcome.CRASH, message=f"{GIVE_UP_ATTEMPTS} tuning processes died while it ran"
)
