"""Rounds of a tuning run: which task is next, which of its schedules to measure, their code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import code_for_one_round
from relay_tune.tuning.ranking import Ranking
from relay_tune.tuning.runner import Draft, Runner
from relay_tune.tuning.scheduler import next_task
from relay_tune.tuning.task_state import TaskState


@dataclass(frozen=True, eq=False, slots=True)
class Round:
    """Candidates of one task that are measured one after the other."""

    state: TaskState
    drafts: Sequence[Draft]


class RoundPlanner:
    """Plans the rounds of a run; `finish` is told of tasks that have nothing left to measure."""

    def __init__(
        self,
        states: Sequence[TaskState],
        ranking: Ranking,
        runner: Runner,
        batch: int,
        finish: Callable[[TaskState, str], None],
    ) -> None:
        self._states = states
        self._ranking = ranking
        self._runner = runner
        self._batch = batch
        self._finish = finish

    def first(self, trials: int) -> Round | None:
        """The round on which time is best spent, of at most so many candidates."""
        return self._plan(trials)

    def following(self, current: Round, trials: int) -> Round | None:
        """The round after a round that is not measured yet: of another task if there is one.

        Planning it while the current one is being prepared costs no time. What is learned from the
        current round does not enter, which matters least where the task is another one.
        """
        return self._plan(trials, current.state)

    def _plan(self, trials: int, but: TaskState | None = None) -> Round | None:
        while trials > 0 and (state := next_task(self._states, but)) is not None:
            count = min(self._batch, trials)
            schedules = state.propose(count, self._ranking.score(state))
            if schedules:
                with code_for_one_round():  # candidates of other rounds share little of it
                    drafts = [self._runner.draft(state.task, each) for each in schedules]
                return Round(state, drafts)
            self._finish(state, "every schedule was measured")
        return None
