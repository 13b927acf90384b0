"""Times that no machine can reach are measured again, and never believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import logs
from relay_tune.codegen.target import Target
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.plausible_runner import LIMIT_CORRECTIONS, REPETITIONS
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.runner import Prepared
from relay_tune.tuning.tasks import Task
from relay_tune.tuning.tune import tune_tasks
from tests.tuning.simulated_runner import SimulatedRunner

PEAK = 1e11
IMPOSSIBLE = Measurement(Outcome.OK, 7e-10, 0.0)


class Disturbed(SimulatedRunner):
    """Gives impossible times: of each `every`-th schedule, so many in a row.

    The machine looks slower than it is until it was measured `busy` times.
    """

    def __init__(self, every: int, in_a_row: int, busy: int = 0) -> None:
        super().__init__()
        self.every, self.in_a_row, self.busy = every, in_a_row, busy
        self.asked: dict[str, int] = {}
        self.measured_limits = 0

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        text = prepared.schedule.to_json()
        self.asked[text] = self.asked.get(text, 0) + 1
        is_disturbed = list(self.asked).index(text) % self.every == 0
        if is_disturbed and self.asked[text] <= self.in_a_row:
            return IMPOSSIBLE
        return super().measure(task, prepared, best)

    def limits(self) -> MachineLimits:
        self.measured_limits += 1
        peak = PEAK * (1e-6 if self.measured_limits <= self.busy else 1.0)
        return MachineLimits(2, {"float32": peak}, (CacheLimit(1e9, 1e15),), 1e15)


def tuned(tasks: list[Task], runner: SimulatedRunner, log: Path, target: Target) -> TuningResult:
    options = TuningOptions(trials=24, minutes=5)
    return tune_tasks(tasks, runner, log=log, options=options, target=target, threads=2)


def records(log: Path) -> list[logs.Record]:
    with logs.open_log(log) as opened:
        assert opened.check().implausible == tuple(
            f"records, row {number}: {record.message}"
            for number, record in enumerate(opened.history(), start=1)
            if record.status is logs.Status.IMPLAUSIBLE
        )
        return list(opened.history())


def test_an_impossible_time_is_measured_again(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    runner = Disturbed(every=3, in_a_row=REPETITIONS)
    result = tuned(tasks, runner, tmp_path / "log.db", target)
    found = records(tmp_path / "log.db")
    assert {record.status.value for record in found} <= {"ok", "crash"}
    assert min(r.seconds for r in found if r.seconds is not None) >= 1e-4
    assert result.outcomes.get("implausible") is None
    assert runner.measured_limits == 1


def test_one_that_stays_impossible_is_recorded_as_such_and_never_chosen(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    result = tuned(tasks, Disturbed(every=3, in_a_row=1000), tmp_path / "log.db", target)
    found = records(tmp_path / "log.db")
    doubted = [record for record in found if record.status is logs.Status.IMPLAUSIBLE]
    assert len(doubted) == result.outcomes["implausible"] == 8
    assert all(record.seconds == 7e-10 for record in doubted)
    assert "the work takes" in doubted[0].message
    assert all((task.best_seconds or 1.0) >= 1e-4 for task in result.tasks)


def test_a_later_run_may_measure_it_again(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    tuned(tasks, Disturbed(every=3, in_a_row=1000), tmp_path / "log.db", target)
    again = tuned(tasks, SimulatedRunner(), tmp_path / "log.db", target)
    assert again.measured == 8
    assert {record.status.value for record in records(tmp_path / "log.db")} <= {"ok", "crash"} | {
        "implausible"
    }


def test_a_machine_that_was_busy_when_it_was_measured_is_measured_again(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    """Good times must not be called impossible because the rates are too low."""
    runner = Disturbed(every=1, in_a_row=0, busy=2)
    result = tuned(tasks, runner, tmp_path / "log.db", target)
    assert result.outcomes.get("implausible") is None
    assert runner.measured_limits == 3 <= 1 + LIMIT_CORRECTIONS
    with logs.open_log(tmp_path / "log.db") as log:
        assert log.limits(target.key)["float32 operations/s, 2 threads"] == PEAK


@pytest.mark.parametrize("status", [logs.Status.WRONG, logs.Status.CRASH])
def test_failures_are_not_judged_by_their_times(
    tasks: list[Task], target: Target, tmp_path: Path, status: logs.Status
) -> None:
    class Failing(SimulatedRunner):
        def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
            found = super().measure(task, prepared, best)
            if len(self.measured) % 2:
                return replace(IMPOSSIBLE, outcome=Outcome(status.value))
            return found

    result = tuned(tasks, Failing(), tmp_path / "log.db", target)
    assert result.outcomes.get("implausible") is None
