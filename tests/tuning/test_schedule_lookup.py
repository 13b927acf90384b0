from __future__ import annotations

from pathlib import Path

import pytest

import logs
from relay_tune.codegen.target import Target
from relay_tune.errors import InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.runtime.target_machine import machine_of
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.schedule_lookup import schedule_lookup
from relay_tune.tuning.tasks import Task, extract_tasks


def record(task: Task, target: Target, schedule: str, seconds: float, threads: int) -> logs.Record:
    return logs.Record(
        task.key.digest,
        target.key,
        threads,
        "1",
        schedule,
        status=logs.Status.OK,
        created=1.0,
        source="here",
        seconds=seconds,
    )


@pytest.fixture
def schedules(tasks: list[Task], target: Target) -> list[str]:
    """The default schedule of the first task, and its neighbours."""
    space = ProgramSpace(tasks[0].plan, machine_of(target), 2)
    genome = space.genome(space.default)
    assert genome is not None
    near = [space.schedule(other).to_json() for other in space.space.neighbours(genome)]
    return list(dict.fromkeys([space.default.to_json(), *near]))


def test_the_fastest_of_the_same_threads_wins(
    tasks: list[Task], target: Target, schedules: list[str], tmp_path: Path
) -> None:
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(tasks[0], target, schedules[0], 3e-3, threads=2))
        log.append(record(tasks[0], target, schedules[1], 2e-3, threads=2))
        log.append(record(tasks[0], target, schedules[2], 1e-3, threads=8))
    for threads, expected in ((2, schedules[1]), (8, schedules[2]), (7, schedules[2])):
        lookup = schedule_lookup(tmp_path / "log.db", target, threads, "1")
        found = lookup(tasks[0].key, tasks[0].plan)
        assert found is not None and found.to_json() == expected
        assert lookup(tasks[1].key, tasks[1].plan) is None
        assert (lookup.report.covered, lookup.report.default) == (1, 1)


def test_a_schedule_that_does_not_fit_is_skipped_with_a_reason(
    tasks: list[Task], target: Target, schedules: list[str], tmp_path: Path
) -> None:
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(tasks[0], target, '{"nests":[]}', 1e-9, threads=2))
        log.append(record(tasks[0], target, schedules[0], 1e-3, threads=2))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    found = lookup(tasks[0].key, tasks[0].plan)
    assert found is not None and found.to_json() == schedules[0]
    assert lookup.report.skipped.total() == 1
    assert str(lookup.report) == "1 of 1 kernels tuned, 1 records do not fit"


def test_other_code_versions_do_not_count(
    tasks: list[Task], target: Target, schedules: list[str], tmp_path: Path
) -> None:
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(tasks[0], target, schedules[0], 1e-3, threads=2))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "2")
    assert lookup(tasks[0].key, tasks[0].plan) is None


def test_a_missing_log_is_an_input_error(target: Target, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        schedule_lookup(tmp_path / "none.db", target, 2, "1")
    assert "none.db" in str(caught.value)


def test_a_schedule_under_another_algorithm_is_found(target: Target, tmp_path: Path) -> None:
    convolution = parse("""
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 12, 12), float32]) {
  nn.conv2d(%x, ones(shape=(16, 16, 3, 3), dtype="float32"), channels=16, kernel_size=(3, 3))
}
""")
    tasks = extract_tasks(default_pipeline()(convolution))
    task = next(task for task in tasks if "conv2d" in task.key.title)
    plan = task.plan.with_algorithm("winograd2")
    schedule = ProgramSpace(plan, machine_of(target), 2).default
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(task, target, schedule.to_json(), 1e-3, threads=2))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    assert lookup(task.key, task.plan) == schedule
    assert not lookup.report.skipped
