"""The winner's curse: lucky times are measured again until the winner stands."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from relay_tune.codegen.target import Target
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.confirm import MOST_ROUNDS, ROUNDS, measure_in_turn, next_to_confirm
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.runner import Prepared
from relay_tune.tuning.task_state import TaskState, new_state
from relay_tune.tuning.tasks import Task
from tests.tuning.simulated_runner import SimulatedRunner


class Recorder(SimulatedRunner):
    """Gives times from a list, in turn."""

    def __init__(self, times: Sequence[float]) -> None:
        super().__init__()
        self.times = list(times)

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        self.measured.append(prepared.schedule.to_json())
        return Measurement(Outcome.OK, self.times.pop(0), 0.0)


def state_with(tasks: list[Task], target: Target, times: Sequence[float]) -> TaskState:
    """A state of which the default took 1 ms and other schedules the given times."""
    state = new_state(tasks[0], ProgramSpace(tasks[0].plan, machine_of(target), 2), 0)
    state.add(state.space.default, Outcome.OK, 1e-3)
    random = Random(0)
    others: dict[str, Schedule] = {}
    while len(others) < len(times):
        schedule = state.space.schedule(state.space.space.random(random))
        if schedule != state.space.default:
            others[schedule.to_json()] = schedule
    for schedule, seconds in zip(others.values(), times, strict=True):
        state.add(schedule, Outcome.OK, seconds)
    return state


def test_the_fastest_three_and_the_default_are_measured_in_turn(
    tasks: list[Task], target: Target
) -> None:
    state = state_with(tasks, target, [5e-4, 6e-4, 7e-4, 8e-4])
    chosen = next_to_confirm(state)
    assert [tried.seconds for tried in chosen] == [5e-4, 6e-4, 7e-4, 1e-3]
    runner = Recorder([9e-4, 1e-3, 1e-3, 1e-3] * 2 + [8e-4, 1e-3, 1e-3, 1e-3])
    found = measure_in_turn(runner, state, chosen)
    assert runner.measured[:4] == runner.measured[4:8] == runner.measured[8:]
    assert found[0][1].seconds == 8e-4


def test_what_is_disturbed_is_measured_more_often(tasks: list[Task], target: Target) -> None:
    chosen = next_to_confirm(state := state_with(tasks, target, [5e-4]))
    runner = Recorder([6e-4, 1.0] * 4 + [7e-4, 1.1e-3])
    assert [found.seconds for _, found in measure_in_turn(runner, state, chosen)] == [6e-4, 1.1e-3]
    assert not runner.times


def test_a_first_time_stays_where_all_that_follow_are_disturbed(
    tasks: list[Task], target: Target
) -> None:
    chosen = next_to_confirm(state := state_with(tasks, target, [5e-4]))
    runner = Recorder([6e-4, 1.0] * MOST_ROUNDS)
    winner, default = (found for _, found in measure_in_turn(runner, state, chosen))
    assert (winner.seconds, default.seconds) == (6e-4, 1e-3) and not runner.times
    few = Recorder([6e-4, 1.0] * ROUNDS)
    measure_in_turn(few, state, chosen, lambda: 0.0)  # no time for more
    assert not few.times


def test_it_goes_on_until_the_winner_is_confirmed(tasks: list[Task], target: Target) -> None:
    state = state_with(tasks, target, [5e-4, 6e-4, 7e-4, 8e-4])
    for tried in next_to_confirm(state):
        state.confirm(tried.schedule, Measurement(Outcome.OK, 9e-4, 0.0))
    again = next_to_confirm(state)
    assert [tried.seconds for tried in again if not tried.confirmed] == [8e-4]
    state.confirm(again[0].schedule, Measurement(Outcome.OK, 9.5e-4, 0.0))
    assert next_to_confirm(state) == []


def test_a_winner_that_fails_when_measured_again_is_out(tasks: list[Task], target: Target) -> None:
    state = state_with(tasks, target, [5e-4])
    winner = next_to_confirm(state)[0]
    state.confirm(winner.schedule, Measurement(Outcome.WRONG, message="differs"))
    assert state.best is state.default_tried


def test_a_default_that_won_needs_no_proof(tasks: list[Task], target: Target) -> None:
    assert next_to_confirm(state_with(tasks, target, [2e-3])) == []
