from __future__ import annotations

from random import Random

import pytest

from cost_model import CostModel, CostModelError, Row
from relay_tune.codegen.target import Target
from relay_tune.runtime.target_machine import machine_of
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.ranking import Ranking
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
        Row("task", space.features(space.schedule(genome)), 1.0 + genome[1]) for genome in genomes
    ]


def sample(state: TaskState, count: int) -> list[Genome]:
    random = Random(0)
    return [state.space.space.random(random) for _ in range(count)]


def test_the_estimate_ranks_until_enough_is_known(state: TaskState) -> None:
    genomes = sample(state, 10)
    ranking = Ranking(0, pytest.fail)
    estimates = [-state.space.cycles(state.space.schedule(genome)) for genome in genomes]
    assert ranking.score(state)(genomes) == estimates
    ranking.learn(rows(state, genomes))
    assert ranking.score(state)(genomes) == estimates


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
    estimates = [-state.space.cycles(state.space.schedule(genome)) for genome in genomes]
    assert ranking.score(state)(genomes) == estimates
    assert ranking.score(state)(genomes) == estimates
    ranking.learn(rows(state, genomes))
    assert told == ["no trees today"]
