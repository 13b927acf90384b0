"""Which candidates look promising: a learned model, which starts from the analytic estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cost_model import RETRAIN_ROWS, CostModel, CostModelError, Row
from relay_tune.schedule.features.program_features import estimated_throughput
from relay_tune.tuning.pretrained import new_cost_model
from relay_tune.tuning.task_state import TaskState, runs_per_second
from search import Genome, Score

RETRAIN_SHARE = 0.05
"""The model is told of new rows once they are enough to train from, and this share of all."""


def row_of(group: str, features: Sequence[float], seconds: float | None) -> Row:
    """Training example of a measured candidate; candidates of one task are a group."""
    return Row(group, features, runs_per_second(seconds), estimated_throughput(features))


class Ranking:
    """One cost model for all tasks of a run, and for those of earlier runs."""

    def __init__(self, seed: int, on_failure: Callable[[str], None]) -> None:
        self._model: CostModel | None = new_cost_model(seed)
        self._on_failure = on_failure
        self._rows = 0
        self._waiting: list[Row] = []

    def learn(self, rows: Sequence[Row]) -> None:
        """Take in measured candidates; the model is trained when enough are new."""
        self._waiting += rows
        needed = max(RETRAIN_ROWS, RETRAIN_SHARE * self._rows)
        if self._model is None or len(self._waiting) < needed:
            return
        try:
            self._model.update(self._waiting)
        except CostModelError as error:
            self._give_up(error)
        self._rows += len(self._waiting)
        self._waiting = []

    def score(self, state: TaskState) -> Score:
        """How promising genomes of a task are; higher is better."""

        def score(genomes: Sequence[Genome]) -> Sequence[float]:
            schedules = [state.space.schedule(genome) for genome in genomes]
            return self.predicted([state.space.features(schedule) for schedule in schedules])

        return score

    def predicted(self, described: Sequence[Sequence[float]]) -> Sequence[float]:
        """How promising schedules of one task are, given their features; higher is better."""
        estimates = [estimated_throughput(features) for features in described]
        if self._model is None:
            return estimates
        try:
            return [float(value) for value in self._model.predict(described, estimates)]
        except CostModelError as error:
            self._give_up(error)
            return estimates

    def _give_up(self, error: CostModelError) -> None:
        """Go on without the model, and say so once."""
        self._model = None
        self._on_failure(str(error))
