"""Which candidates look promising: a learned model, or the analytic estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cost_model import CostModel, CostModelError, Row
from relay_tune.tuning.task_state import TaskState
from search import Genome, Score

LEAST_ROWS = 24
"""With fewer measured candidates the estimate ranks better than what was learned from them."""

RETRAIN_SHARE = 0.05
RETRAIN_ROWS = 8


class Ranking:
    """One cost model for all tasks of a run, and for those of earlier runs."""

    def __init__(self, seed: int, on_failure: Callable[[str], None]) -> None:
        self._model: CostModel | None = CostModel(seed=seed)
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
            if self._model is not None and self._rows >= LEAST_ROWS:
                described = [state.space.features(schedule) for schedule in schedules]
                try:
                    return [float(value) for value in self._model.predict(described)]
                except CostModelError as error:
                    self._give_up(error)
            return [-state.space.cycles(schedule) for schedule in schedules]

        return score

    def _give_up(self, error: CostModelError) -> None:
        """Go on without the model, and say so once."""
        self._model = None
        self._on_failure(str(error))
