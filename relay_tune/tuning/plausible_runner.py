"""A runner whose times can be: what no machine reaches is measured again, or not believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import logs
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.known_limits import known_limits, measured_again
from relay_tune.tuning.log_keeper import work_as_json
from relay_tune.tuning.runner import Draft, Patience, Prepared, endless
from relay_tune.tuning.session import Session
from relay_tune.tuning.tasks import Task

REPETITIONS = 2
"""So often a candidate is measured again that took less time than it can."""

LIMIT_CORRECTIONS = 3
"""So often in a run the machine is measured again, which may have been busy at first."""


class PlausibleRunner:
    """The runner of a session; it tells the session's states what the machine can reach."""

    def __init__(self, session: Session) -> None:
        self._states = session.states
        self._runner = session.runner
        self._keeper = session.keeper
        self._progress = session.progress
        self._corrections = LIMIT_CORRECTIONS
        self._least: dict[tuple[str, AppliedAlgorithm], float | None] = {}

    def draft(self, task: Task, schedule: Schedule) -> Draft:
        """See `Runner.draft`."""
        return self._runner.draft(task, schedule)

    def prepare(
        self, task: Task, drafts: Sequence[Draft], best: float | None, patience: Patience = endless
    ) -> Iterable[Prepared]:
        """See `Runner.prepare`."""
        return self._runner.prepare(task, drafts, best, patience)

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """See `Runner.measure`; `IMPLAUSIBLE` where a candidate takes less time than it can."""
        found = self._runner.measure(task, prepared, best)
        for _ in range(REPETITIONS):
            if self._doubt(task, prepared.schedule, found) is None:
                return found
            found = self._runner.measure(task, prepared, best)
        while self._corrections and self._doubt(task, prepared.schedule, found) is not None:
            self.correct_limits()
        doubt = self._doubt(task, prepared.schedule, found)
        return (
            found if doubt is None else replace(found, outcome=Outcome.IMPLAUSIBLE, message=doubt)
        )

    def limits(self) -> MachineLimits:
        """See `Runner.limits`."""
        return self._runner.limits()

    def close(self) -> None:
        """See `Runner.close`."""
        self._runner.close()

    def set_limits(self) -> None:
        """Tell the states what the machine can reach: from the log, or measured now."""
        threads = self._keeper.scope.threads
        self._tell(known_limits(self._keeper, threads, self._runner.limits, self._progress))

    def correct_limits(self) -> None:
        """Measure the machine again, unless that was done often enough; the higher rates stay."""
        if not self._corrections:
            return
        self._corrections -= 1
        threads = self._keeper.scope.threads
        self._tell(measured_again(self._keeper, threads, self._runner.limits))

    def _doubt(self, task: Task, schedule: Schedule, found: Measurement) -> str | None:
        """Why a time cannot be; None where it can."""
        least = self._least.get((task.key.digest, schedule.algorithm))
        if found.outcome is not Outcome.OK or found.seconds is None or least is None:
            return None
        if not logs.is_implausible(found.seconds, least):
            return None
        return logs.implausible_message(found.seconds, least)

    def _tell(self, limits: MachineLimits) -> None:
        entries = {**self._keeper.limits(), **limits.entries()}
        for state in self._states:
            bound = limits.least_bound(state.space.works.values())
            state.limit_seconds, state.limit_name = bound.seconds, bound.name
            for algorithm, work in state.space.works.items():
                self._least[state.task.key.digest, algorithm] = logs.least_seconds(
                    {"algorithms": [work_as_json(work)]}, entries, limits.threads
                )
