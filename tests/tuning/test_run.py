"""The loop with simulated times: determinism, budgets, resuming, failing, interruption."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import logs
from relay_tune.codegen.target import Target, native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError, TuningError
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.schedule import Schedule
from relay_tune.time_limit import TimeIsOver
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning import scheduler
from relay_tune.tuning import tune as tuning
from relay_tune.tuning.events import Event, Measured, RunStarted, TaskFinished, TaskStarted
from relay_tune.tuning.finished_tasks import FINISHED_EARLIER
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.run_record import read_run
from relay_tune.tuning.runner import Draft, Patience, Prepared, Runner
from relay_tune.tuning.task_state import PATIENCE
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.tuning.tune import tune_tasks
from tests.tuning.conftest import TWO_LAYERS
from tests.tuning.simulated_runner import SimulatedRunner


@pytest.fixture(scope="module", autouse=True)
def impatient() -> Iterator[None]:
    """Tasks that end when they would first rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler, "MOST_PATIENCE", PATIENCE)
        yield


@pytest.fixture(scope="module", autouse=True)
def one_machine() -> Iterator[None]:
    """The rates of this machine, measured once: estimates are the same for all logs.

    Other work beside the tests would change them from log to log.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "best_known_limits", cache(tuning.best_known_limits))
        yield


def tuned(
    tasks: list[Task],
    runner: Runner,
    log: Path,
    target: Target,
    trials: int | None = 24,
    seed: int = 0,
    events: list[Event] | None = None,
) -> TuningResult:
    return tune_tasks(
        tasks,
        runner,
        log=log,
        options=TuningOptions(trials, minutes=5, seed=seed),
        target=target,
        threads=2,
        progress=(events if events is not None else []).append,
    )


def test_one_seed_one_sequence_of_candidates(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    runners = [SimulatedRunner(), SimulatedRunner(), SimulatedRunner()]
    for number, (runner, seed) in enumerate(zip(runners, (3, 3, 4), strict=True)):
        tuned(tasks, runner, tmp_path / f"{number}.db", target, seed=seed)
    assert runners[0].measured == runners[1].measured
    assert runners[0].measured != runners[2].measured


def test_the_budget_is_kept_and_nothing_is_tried_twice(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    events: list[Event] = []
    result = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target, 24, events=events)
    assert result.measured == 24
    with logs.open_log(tmp_path / "log.db") as log:
        records = list(log.history())
        assert log.claims() == []
        (run,) = log.runs()
    assert run.state is logs.RunState.FINISHED
    told = read_run(run.arguments)
    assert told is not None
    assert dict(told.kernels) == {task.key.digest: task.weight for task in tasks}
    assert len(records) == 24
    assert sum(isinstance(event, Measured) for event in events) == 24


def test_algorithms_are_tried_first_in_the_order_of_their_estimates(
    convolution_task: Task, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = SimulatedRunner()
    # Rates that are measured twice may differ on a busy machine, and the order with them.
    monkeypatch.setattr(tuning, "best_known_limits", lambda _, threads: machine_limits(threads))
    tuned([convolution_task], runner, tmp_path / "log.db", target, 24)
    space = ProgramSpace(convolution_task.plan, machine_of(target), 2)
    defaults = [schedule.to_json() for schedule in space.defaults]
    assert len(defaults) >= 3
    assert runner.measured[: len(defaults)] == defaults


def test_the_log_tells_what_each_algorithm_has_to_do(
    convolution_task: Task, target: Target, tmp_path: Path
) -> None:
    result = tuned([convolution_task], SimulatedRunner(), tmp_path / "log.db", target, 2)
    with logs.open_log(tmp_path / "log.db") as log:
        described = json.loads(log.task(convolution_task.key.digest) or "")
    told = described["algorithms"]
    works = ProgramSpace(convolution_task.plan, machine_of(target), 2).works
    for algorithm, work in works.items():
        (own,) = (each for each in told if algorithm.to_json() in each["names"])
        assert (own["operations"], own["bytes"]) == (work.operations, work.bytes)
    assert len(told) == len({(*w.operations.items(), w.bytes) for w in works.values()})
    limits = SimulatedRunner().limits()
    assert result.tasks[0].limit_seconds == limits.least_bound(works.values()).seconds


def test_defaults_come_first_and_the_result_is_not_slower(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    events: list[Event] = []
    result = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target, events=events)
    started = [event.digest for event in events if isinstance(event, TaskStarted)]
    assert started[: len(tasks)] == [task.key.digest for task in tasks]
    for task in result.tasks:
        if task.default_seconds is not None:
            assert task.best_seconds is not None
            assert task.best_seconds <= task.default_seconds


@pytest.mark.parametrize("ready", [0, 1, 3])
def test_what_is_not_ready_in_time_is_left_out(
    tasks: list[Task], target: Target, tmp_path: Path, ready: int
) -> None:
    class Slow(SimulatedRunner):
        def prepare(
            self, task: Task, drafts: Sequence[Draft], best: float | None, patience: Patience
        ) -> Iterator[Prepared]:
            assert 0 < patience() <= 300
            yield from [Prepared(draft.schedule) for draft in drafts[:ready]]
            raise TimeIsOver

    result = tuned(tasks, Slow(), tmp_path / "log.db", target)
    assert (result.measured > 0) == (ready > 0)
    with logs.open_log(tmp_path / "log.db") as log:
        assert len(list(log.history())) == result.measured
        assert log.claims() == []


def test_a_second_run_measures_nothing(tasks: list[Task], target: Target, tmp_path: Path) -> None:
    first = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target)
    runner = SimulatedRunner()
    second = tuned(tasks, runner, tmp_path / "log.db", target)
    assert runner.measured == []
    assert second.measured == 0
    assert second.model_seconds == first.model_seconds


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[TuningResult, Path]:
    """Two layers that are tuned to the end, and the log of that."""
    log = tmp_path_factory.mktemp("finished") / "log.db"
    tasks = extract_tasks(default_pipeline()(parse(TWO_LAYERS)))
    result = tuned(tasks, SimulatedRunner(), log, native_target(), trials=2000)
    assert all(task.reason for task in result.tasks)
    return result, log


@pytest.fixture
def finished(finished_once: tuple[TuningResult, Path], tmp_path: Path) -> TuningResult:
    """The result; its log, which each test may change, is `log.db` in the test's folder."""
    result, log = finished_once
    shutil.copytree(log.parent, tmp_path, dirs_exist_ok=True)
    return result


def test_a_model_that_is_finished_is_not_planned_again(
    tasks: list[Task],
    target: Target,
    tmp_path: Path,
    finished: TuningResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = finished
    monkeypatch.setattr(ProgramSpace, "__init__", None)
    events: list[Event] = []
    again = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target, 2000, events=events)
    assert again.measured == 0
    assert {task.reason for task in again.tasks} == {FINISHED_EARLIER}
    unchanged = [replace(task, limit_seconds=None, reason="") for task in first.tasks]
    assert [replace(task, reason="") for task in again.tasks] == unchanged
    assert [type(event) for event in events] == [RunStarted]


def test_what_is_too_small_at_the_end_stays_so(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    """The same log may rate it a little larger later, once the winners were measured again."""
    runner = Uneven(tasks[0])
    first = tuned(tasks, runner, tmp_path / "log.db", target, trials=2000)
    assert "too small a part of the model" in {task.reason for task in first.tasks}
    assert tuned(tasks, runner, tmp_path / "log.db", target, trials=2000).measured == 0


class Uneven(SimulatedRunner):
    """One task takes a small part of its simulated time."""

    def __init__(self, small: Task, factor: float = 1e-3) -> None:
        super().__init__()
        self.small, self.factor = small, factor

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        found = super().measure(task, prepared, best)
        if task is not self.small or found.seconds is None:
            return found
        return replace(found, seconds=found.seconds * self.factor)


def lose(log: Path, statement: str) -> None:
    with logs.open_log(log) as opened, opened._store.writing() as database:
        assert database.execute(statement).rowcount > 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET seconds = 1e-9 WHERE id % 4 = 0",
        "UPDATE records SET status = 'ok' WHERE status != 'ok'",  # without a time
        "UPDATE records SET digest = '' WHERE status = 'ok'",
        "DELETE FROM records WHERE id = 1",
        "DELETE FROM records WHERE id % 3 = 0",
        "UPDATE records SET workload = 'x' WHERE id % 5 = 0",
    ],
)
def test_what_is_damaged_or_lost_is_measured_again_although_all_is_finished(
    tasks: list[Task], target: Target, tmp_path: Path, finished: TuningResult, statement: str
) -> None:
    log, first = tmp_path / "log.db", finished
    before = {record.schedule for record in records_of(log)}
    lose(log, statement)
    missing = before - {record.schedule for record in records_of(log)}
    runner = SimulatedRunner()
    again = tuned(tasks, runner, log, target, trials=2000)
    assert missing
    assert again.measured > 0
    if statement.startswith("UPDATE records SET s"):
        assert missing <= set(runner.measured)
    for mine, earlier in zip(again.tasks, first.tasks, strict=True):
        assert mine.default_seconds == earlier.default_seconds
    assert tuned(tasks, SimulatedRunner(), log, target, trials=2000).measured == 0


def records_of(log: Path) -> list[logs.Record]:
    with logs.open_log(log) as opened:
        return list(opened.history())


def test_tasks_that_rest_go_on_while_there_is_budget(
    tasks: list[Task], target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "WORTHWHILE", 1.0)  # no gain is
    ended = tuned(tasks[:1], SimulatedRunner(), tmp_path / "log.db", target, trials=400)
    monkeypatch.setattr(scheduler, "MOST_PATIENCE", 2 * PATIENCE)
    events: list[Event] = []
    result = tuned(tasks[:1], SimulatedRunner(), tmp_path / "more.db", target, 400, events=events)
    assert ended.measured < result.measured < 400
    assert {task.reason for task in result.tasks} == {f"no gain in {2 * PATIENCE} rounds"}
    assert sum(isinstance(event, TaskFinished) for event in events) == 1


def test_a_larger_budget_goes_on_where_the_last_run_ended(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target, 16)
    events: list[Event] = []
    result = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target, 24, events=events)
    assert next(e for e in events if isinstance(e, RunStarted)).known == 16
    assert result.measured == 8


def test_an_interrupted_run_keeps_everything(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    result = tuned(tasks, SimulatedRunner(interrupt_after=13), tmp_path / "log.db", target)
    assert result.interrupted
    with logs.open_log(tmp_path / "log.db") as log:
        assert len(list(log.history())) == 13
        assert log.claims() == []
        assert [run.state for run in log.runs()] == [logs.RunState.INTERRUPTED]
    resumed = SimulatedRunner()
    assert tuned(tasks, resumed, tmp_path / "log.db", target).measured == 11


def test_an_interrupt_between_record_and_count_divides_nothing(
    tasks: list[Task], target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = LogKeeper.append

    def append_and_interrupt(*arguments: Any) -> None:
        append(*arguments)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LogKeeper, "append", append_and_interrupt)
    result = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target)
    assert result.interrupted
    assert result.measured == sum(task.trials for task in result.tasks) == 1
    with logs.open_log(tmp_path / "log.db") as log:
        assert len(list(log.history())) == 1
        assert log.claims() == []


def test_no_success_at_all_is_an_error_with_a_histogram(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    with pytest.raises(TuningError, match=r"None of \d+ candidates ran correctly: \d+ crash"):
        tuned(tasks, SimulatedRunner(failing=True), tmp_path / "log.db", target)
    with logs.open_log(tmp_path / "log.db") as log:
        assert {record.status for record in log.history()} == {logs.Status.CRASH}
        assert [run.state for run in log.runs()] == [logs.RunState.FAILED]


def test_records_that_do_not_fit_are_passed_over(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(
            logs.Record(
                tasks[0].key.digest,
                target.key,
                2,
                CODE_VERSION,
                '{"nests":[]}',
                status=logs.Status.OK,
                created=0.0,
                source="elsewhere",
                seconds=1e-9,
            )
        )
    result = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target, 12)
    assert result.tasks[0].best_seconds is not None
    assert result.tasks[0].best_seconds > 1e-9


def test_a_candidate_that_processes_died_at_again_and_again_is_recorded_as_crash(
    tasks: list[Task], target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    tuned(tasks, SimulatedRunner(), path, target, 0)
    monkeypatch.setattr(LogKeeper, "claim", lambda _, __, schedules: [False] * len(schedules))
    monkeypatch.setattr(LogKeeper, "killed_its_measurers", lambda *_: True)
    with pytest.raises(TuningError, match="crash"):
        tuned(tasks, SimulatedRunner(), path, target, 4)


def test_what_another_process_measured_meanwhile_is_taken_over(
    tasks: list[Task], target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = LogKeeper.claim

    def too_late(keeper: LogKeeper, task: Task, schedules: Sequence[Schedule]) -> list[bool]:
        assert all(claim(keeper, task, schedules))
        for schedule in schedules:
            keeper.append(task, schedule, Measurement(Outcome.OK, 2e-3), [])
        return claim(keeper, task, schedules)

    monkeypatch.setattr(LogKeeper, "claim", too_late)
    runner = SimulatedRunner()
    result = tuned(tasks, runner, tmp_path / "log.db", target, 80)
    assert runner.measured == [] and result.measured == 0
    assert {task.best_seconds for task in result.tasks} == {2e-3}
    assert "another process is tuning it" not in {task.reason for task in result.tasks}


def test_tasks_that_others_are_at_are_left_to_them(
    tasks: list[Task], target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogKeeper, "claim", lambda _, __, schedules: [False] * len(schedules))
    result = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target)
    assert result.measured == 0
    assert {task.reason for task in result.tasks} == {"another process is tuning it"}


def test_a_log_that_is_none_is_an_input_error(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    path = tmp_path / "log.db"
    path.write_text("this is no database, but long enough to look like one " * 100)
    with pytest.raises(InputError):
        tuned(tasks, SimulatedRunner(), path, target)


@pytest.mark.parametrize("options", [{"trials": -1}, {"minutes": -1.0}, {"minutes": float("nan")}])
def test_senseless_budgets_are_refused(
    tasks: list[Task], target: Target, tmp_path: Path, options: dict[str, float]
) -> None:
    with pytest.raises(InputError):
        tune_tasks(
            tasks,
            SimulatedRunner(),
            log=tmp_path / "log.db",
            options=TuningOptions(**options),  # type: ignore[arg-type]
            target=target,
            threads=2,
        )
