"""One tuning run: propose, predict, measure, record, task by task, until the budget is spent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import logs
from cost_model import CostModelError, Row
from relay_tune.errors import InputError, TuningError
from relay_tune.remembered import code_for_one_round
from relay_tune.runtime.measuring.measurement import Outcome
from relay_tune.schedule.features.names import FEATURE_NAMES
from relay_tune.schedule.plan import read_schedule
from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning.confirm import PASSES, measure_in_turn, next_to_confirm
from relay_tune.tuning.deferred_signals import deferred_signals
from relay_tune.tuning.events import (
    CostModelFailed,
    PhaseStarted,
    RunStarted,
    TaskFinished,
    TaskStarted,
)
from relay_tune.tuning.finished_tasks import FINISHED_EARLIER
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.plausible_runner import PlausibleRunner
from relay_tune.tuning.ranking import Ranking, row_of
from relay_tune.tuning.recorder import Recorder, UnderWay
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.rounds import Round, RoundPlanner
from relay_tune.tuning.scheduler import has_stalled, next_task, reason_to_finish, wake
from relay_tune.tuning.session import Session
from relay_tune.tuning.task_state import TaskState

OTHER_ROWS = 2000
"""At most so many records of other models teach the cost model."""

IMPOSSIBLE_SHARE = 1.02
"""A kernel that is so much faster than the machine's limit proves that the limit is wrong."""

IDLE_ROUNDS = 3
"""So many rounds in which other processes had all candidates, and a task is left to them."""


class TuningRun:
    """The run over the tasks of a session."""

    def __init__(self, session: Session, options: TuningOptions, share: float) -> None:
        """`share` is the budget in candidates for each task of the model."""
        self._states = session.states
        self._runner = PlausibleRunner(session)
        self._keeper = session.keeper
        self._budget = session.budget
        self._progress = session.progress
        self._options = options
        self._share = share
        self._ranking = Ranking(options.seed, lambda text: session.progress(CostModelFailed(text)))
        self._recorder = Recorder(replace(session, runner=self._runner))

    def run(self) -> TuningResult:
        """Spend the budget. TuningError if nothing that was measured ran correctly."""
        interrupted = late = False
        try:
            self._learn_from_log()
            self._announce()
            if not self._is_satisfied():
                self._runner.set_limits()
                self._measure_first()
                self._budget.keep_runs(sum(state.model_seconds for state in self._states))
                self._measure_rounds()
                self._confirm_winners()
        except KeyboardInterrupt:
            interrupted = True
        except TimeIsOver:
            late = True
        finally:
            self._recorder.release()
        self._check_success(interrupted)
        return TuningResult(
            tuple(state.result() for state in self._states),
            measured=self._budget.measured,
            seconds=self._budget.elapsed,
            interrupted=interrupted,
            outcomes=dict(self._recorder.outcomes),
            out_of_time=late or self._is_out_of_time(),
        )

    def _is_out_of_time(self) -> bool:
        """Whether there was something left to measure when the time was over."""
        budget = self._budget
        is_over = budget.is_spent and budget.remaining_trials > 0
        return is_over and any(not (state.finished or state.resting) for state in self._states)

    def _learn_from_log(self) -> None:
        """Enter what the log knows: of these tasks into their searches, all into the model."""
        rows: list[Row] = []
        for state in self._states:
            for record in self._keeper.history(state.task):
                rows += self._enter(state, record)
            mark = self._keeper.finished(state.task)
            if mark is not None and mark.share >= self._share:
                state.finished = FINISHED_EARLIER
        digests = {state.task.key.digest for state in self._states}
        others = [_row_of(record) for record in self._keeper.history_of_others(digests)]
        self._ranking.learn([row for row in others if row is not None][-OTHER_ROWS:])
        self._ranking.learn(rows)
        self._budget.used = sum(len(state.tried) for state in self._states)

    def _enter(self, state: TaskState, record: logs.Record) -> list[Row]:
        """Tell a state of a record; a schedule that does not fit the task is passed over.

        So is a time that cannot be: it finishes nothing, and the schedule may be measured again.
        """
        if record.status is logs.Status.IMPLAUSIBLE:
            return []
        try:
            schedule = read_schedule(record.schedule, state.task.plan)
        except InputError:
            return []
        state.add(schedule, Outcome(record.status.value), record.seconds)
        if not state.space.describes(schedule):
            return []
        return [_row(state, schedule, _seconds_of(record))]

    def _announce(self) -> None:
        budget = self._budget
        self._progress(RunStarted(len(self._states), budget.used, budget.trials, budget.seconds))
        for state in self._states:
            self._keeper.describe(state.task, state.space.works)

    def _is_satisfied(self) -> bool:
        """Whether there is nothing left to measure."""
        measured = all(state.default_tried is not None for state in self._states)
        return self._budget.is_spent or (measured and next_task(self._states) is None)

    def _measure_first(self) -> None:
        """The default schedule of every task comes first: a run can only improve on it.

        After them come those whose records are damaged, or whose times cannot be.
        """
        new = [(each, each.space.default) for each in self._states if each.default_tried is None]
        new += [
            (state, schedule)
            for state in self._states
            for schedule in self._unsettled(state)
            if (state, schedule) not in new
        ]
        new = new[: self._budget.remaining_trials]
        for first in range(0, len(new), self._options.batch):
            if self._budget.is_spent:
                return
            chosen = new[first : first + self._options.batch]
            with code_for_one_round():
                drafts = [(state, self._runner.draft(state.task, each)) for state, each in chosen]
            under_way = [self._recorder.begin(state, [draft]) for state, draft in drafts]
            for ready in [each.ready() for each in under_way]:
                self._finish_round(ready)

    def _unsettled(self, state: TaskState) -> Iterator[Schedule]:
        """The schedules of a task whose records finish nothing."""
        for text in self._keeper.unsettled(state.task):
            try:
                schedule = read_schedule(text, state.task.plan)
            except InputError:
                continue
            if schedule.to_json() not in state.tried and state.space.describes(schedule):
                yield schedule

    def _measure_rounds(self) -> None:
        """Measure round after round; the next one is planned while the current one is prepared."""
        budget = self._budget
        planner = RoundPlanner(
            self._states, self._ranking, self._runner, self._options.batch, self._finish
        )
        current = None if budget.is_spent else self._first(planner)
        while current is not None and not budget.is_spent:
            under_way = self._recorder.begin(current.state, current.drafts)
            trials = budget.remaining_trials - len(current.drafts)
            following = planner.following(current, trials)
            self._finish_round(under_way.ready())
            if following is None or following.state.finished or following.state.resting:
                following = self._first(planner)
            current = following
        if current is None and not budget.is_spent:
            self._finish_negligible()

    def _first(self, planner: RoundPlanner) -> Round | None:
        """A round of the task that is worth it most; where all rest, of one that goes on."""
        found = planner.first(self._budget.remaining_trials)
        while found is None and wake(self._states, self._options.seed):
            found = planner.first(self._budget.remaining_trials)
        return found

    def _finish_negligible(self) -> None:
        """The tasks that are left are too small; the next run shall not think otherwise."""
        for state in self._states:
            if not state.finished and state.best_seconds is not None:
                self._finish(state, "too small a part of the model")

    def _finish_round(self, ready: UnderWay) -> None:
        """Measure a round that is ready, unless the budget is spent, and learn from it."""
        state = ready.state
        key = state.task.key
        number = self._states.index(state) + 1
        self._progress(TaskStarted(state.task.title, key.digest, number, len(self._states)))
        self._ranking.learn(self._recorder.finish(ready))
        self._end_round(state, ready.known)

    def _end_round(self, state: TaskState, known_before: int) -> None:
        """Draw conclusions from a round, before which so many schedules were known."""
        state.rounds.append(state.best_seconds)
        state.idle_rounds = 0 if len(state.tried) > known_before else state.idle_rounds + 1
        if state.idle_rounds >= IDLE_ROUNDS:
            state.finished = "another process is tuning it"
        if (state.limit_share or 0.0) > IMPOSSIBLE_SHARE:
            self._runner.correct_limits()
        reason = reason_to_finish(state)
        if reason and not state.finished:
            self._finish(state, reason)
        state.resting = not state.finished and has_stalled(state)

    def _finish(self, state: TaskState, reason: str) -> None:
        state.finished = reason
        self._keeper.finish(state.task, self._share, state.space.default)
        key = state.task.key
        self._progress(TaskFinished(state.task.title, key.digest, reason, state.best_seconds))

    def _confirm_winners(self) -> None:
        measured = [state for state in self._states if state.was_measured]
        for number, state in enumerate(measured):
            self._progress(PhaseStarted("measuring the winners again", number, len(measured)))
            self._confirm(state)

    def _confirm(self, state: TaskState) -> None:
        budget = self._budget
        for _ in range(PASSES):
            chosen = next_to_confirm(state) if budget.confirming_left else []
            if not chosen:
                return
            try:
                found = measure_in_turn(self._runner, state, chosen, lambda: budget.confirming_left)
            except TimeIsOver:
                return
            for tried, measurement in found:
                features = state.space.features(tried.schedule)
                with deferred_signals():
                    self._keeper.append(state.task, tried.schedule, measurement, features)
                    state.confirm(tried.schedule, measurement)

    def _check_success(self, interrupted: bool) -> None:
        """TuningError if candidates were measured and none of them ran correctly."""
        failed = all(state.best_seconds is None for state in self._states)
        if interrupted or not failed or not self._budget.measured:
            return
        histogram = ", ".join(
            f"{count} {name}" for name, count in self._recorder.outcomes.most_common()
        )
        raise TuningError(
            f"None of {self._budget.measured} candidates ran correctly: {histogram}.",
            notes=tuple(self._recorder.messages),
            remedy="The reasons are in the log; building without a log uses the same kernels.",
        )


def _seconds_of(record: logs.Record) -> float | None:
    """The time of a correct record."""
    return record.seconds if record.status == "ok" else None


def _row(state: TaskState, schedule: Schedule, seconds: float | None) -> Row:
    return row_of(state.task.key.digest, state.space.features(schedule), seconds)


def _row_of(record: logs.Record) -> Row | None:
    """Lessons of another model's record, or None if it describes its schedule otherwise."""
    if not record.features or record.status is logs.Status.IMPLAUSIBLE:
        return None
    values = json.loads(record.features)
    if len(values) != len(FEATURE_NAMES):
        return None
    seconds = _seconds_of(record)
    try:
        return row_of(record.workload, values, seconds)
    except CostModelError:
        return None
