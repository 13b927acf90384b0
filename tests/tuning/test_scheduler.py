"""Where the next candidates go."""

from __future__ import annotations

import pytest

from relay_tune.codegen.target import Target
from relay_tune.runtime.measuring.measurement import Outcome
from relay_tune.runtime.target_machine import machine_of
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.scheduler import (
    expected_saving,
    has_stalled,
    next_task,
    reason_to_finish,
    wake,
)
from relay_tune.tuning.task_state import TaskState, new_state
from relay_tune.tuning.tasks import Task


@pytest.fixture
def states(tasks: list[Task], target: Target) -> list[TaskState]:
    machine = machine_of(target)
    return [new_state(task, ProgramSpace(task.plan, machine, 2), 0) for task in tasks]


def measured(state: TaskState, seconds: float, limit: float | None = None) -> TaskState:
    state.add(state.space.default, Outcome.OK, seconds)
    state.limit_seconds = limit
    return state


def test_the_task_with_more_time_to_save_goes_first(states: list[TaskState]) -> None:
    measured(states[0], 1e-3)
    measured(states[1], 5e-3)
    assert next_task(states) is states[1]


def test_room_up_to_the_limit_counts(states: list[TaskState]) -> None:
    measured(states[0], 1e-3, limit=1e-4)
    measured(states[1], 5e-3, limit=4.9e-3)
    assert next_task(states) is states[0]


def test_a_task_that_gained_lately_is_preferred(states: list[TaskState]) -> None:
    for state in states:
        measured(state, 1e-3)
    states[0].rounds = [1e-3, 1e-3, 1e-3]
    states[1].rounds = [2e-3, 1.5e-3, 1e-3]
    assert expected_saving(states[1]) > expected_saving(states[0])


def test_negligible_and_finished_tasks_get_nothing(states: list[TaskState]) -> None:
    measured(states[0], 1e-6)
    measured(states[1], 1e-3)
    states[1].finished = "done"
    assert next_task(states) is None


def test_another_task_is_preferred_but_only_if_it_is_worth_it(states: list[TaskState]) -> None:
    measured(states[0], 2e-3)
    measured(states[1], 5e-3)
    assert next_task(states, but=states[1]) is states[0]
    measured(states[0], 1e-6)
    assert next_task(states, but=states[1]) is states[1]


def test_a_task_ends_at_the_limit(states: list[TaskState]) -> None:
    assert reason_to_finish(measured(states[0], 1e-3, limit=9.8e-4)).startswith("at 98%")
    assert reason_to_finish(measured(states[1], 1e-3, limit=9e-4)) == ""


def test_a_task_without_gain_rests_and_ends_at_last(states: list[TaskState]) -> None:
    state = measured(states[0], 1e-3)
    measured(states[1], 1e-3).finished = "done"
    state.rounds = [1e-3] * 4
    assert not has_stalled(state)
    state.rounds = [2e-3, 1e-3, 1e-3, 1e-3, 0.9e-3]
    assert not has_stalled(state)
    for rounds in (4, 8, 16):
        state.rounds = [1e-3] * (rounds + 1)
        assert has_stalled(state)
        assert reason_to_finish(state) == ("no gain in 16 rounds" if rounds == 16 else "")
        state.resting = rounds < 16
        assert (next_task(states) is None) == state.resting
        earlier = state.search
        assert wake(states, 0) == (rounds < 16)
        assert (state.search is not earlier) == (rounds < 16)


def test_a_search_that_begins_anew_knows_what_was_measured(states: list[TaskState]) -> None:
    state = measured(states[0], 1e-3)
    state.begin_anew(1)
    best = state.search.best
    assert best is not None and state.space.schedule(best[0]) == state.space.default


def test_a_task_whose_candidates_all_fail_ends(states: list[TaskState]) -> None:
    states[0].rounds = [None, None, None]
    assert reason_to_finish(states[0]) == ""  # others had all candidates
    states[0].add(states[0].space.default, Outcome.CRASH, None)
    assert reason_to_finish(states[0]) == "every candidate failed"
