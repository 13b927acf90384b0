from __future__ import annotations

from random import Random

import pytest

from cost_model import CostModel, CostModelError, Row, rank_correlation
from relay_tune.codegen.target import Target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.features.program_features import estimated_throughput
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.ranking import Ranking, row_of
from relay_tune.tuning.task_state import TaskState, new_state
from relay_tune.tuning.tasks import Task
from search import Genome


@pytest.fixture
def state(tasks: list[Task], target: Target) -> TaskState:
    return new_state(tasks[0], ProgramSpace(tasks[0].plan, machine_of(target), 2), 0)


def rows(state: TaskState, genomes: list[Genome]) -> list[Row]:
    """Rows in which a larger first gene is always better."""
    space = state.space
    return [
        row_of("task", space.features(space.schedule(genome)), 1.0 / (1.0 + genome[1]))
        for genome in genomes
    ]


def sample(state: TaskState, count: int) -> list[Genome]:
    random = Random(0)
    return [state.space.space.random(random) for _ in range(count)]


def estimates_of(state: TaskState, genomes: list[Genome]) -> list[float]:
    described = [state.space.features(state.space.schedule(genome)) for genome in genomes]
    return [estimated_throughput(features) for features in described]


def test_what_ships_with_the_package_corrects_the_estimate_from_the_start(
    state: TaskState,
) -> None:
    genomes = sample(state, 40)
    scores = list(Ranking(0, pytest.fail).score(state)(genomes))
    estimates = estimates_of(state, genomes)
    assert scores != estimates
    assert rank_correlation(scores, estimates) > 0.5


def test_the_model_ranks_after_that(state: TaskState) -> None:
    genomes = sample(state, 64)
    ranking = Ranking(0, pytest.fail)
    ranking.learn(rows(state, genomes))
    low = min(genomes, key=lambda genome: genome[1])
    high = max(genomes, key=lambda genome: genome[1])
    scores = ranking.score(state)([low, high])
    assert scores[0] < scores[1]


def test_a_failing_model_is_given_up_once(
    state: TaskState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise CostModelError("no trees today")

    told: list[str] = []
    ranking = Ranking(0, told.append)
    genomes = sample(state, 40)
    ranking.learn(rows(state, genomes))
    monkeypatch.setattr(CostModel, "predict", failing)
    estimates = estimates_of(state, genomes)
    assert ranking.score(state)(genomes) == estimates
    assert ranking.score(state)(genomes) == estimates
    ranking.learn(rows(state, genomes))
    assert told == ["no trees today"]


@pytest.mark.parametrize("seconds", [5e-324, 1e-30, 1.0])
def test_whatever_time_a_log_claims_can_be_learned_from(state: TaskState, seconds: float) -> None:
    (genome,) = sample(state, 1)
    space = state.space
    row = row_of("task", space.features(space.schedule(genome)), seconds)
    assert row.throughput is not None and 0 < row.throughput <= 1e12
