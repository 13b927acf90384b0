from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import logs
from relay_tune.codegen.target import Target, parse_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.matrix_products.record import BF16X6
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from relay_tune.targets.x86.intrinsics import INTRINSICS
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.program_space import ProgramSpace
from relay_tune.tuning.schedule_lookup import schedule_lookup
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task, extract_tasks

CONVOLUTION = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 26, 26), float32]) {
  nn.conv2d(%x, ones(shape=(32, 32, 3, 3), dtype="float32"), channels=32, kernel_size=(3, 3))
}
"""


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
    """

    import sqlite3
    from contextlib import closing
    The default schedule of the first task, and its neighbours."""
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


def test_others_that_are_nearly_as_fast_follow_the_fastest(
    tasks: list[Task], target: Target, schedules: list[str], tmp_path: Path
) -> None:
    times = (1.04e-3, 1.2e-3, 1e-3, 1.05e-3)
    with logs.open_log(tmp_path / "log.db") as log:
        for text, seconds in zip(schedules, times, strict=False):
            log.append(record(tasks[0], target, text, seconds, threads=2))
        log.append(record(tasks[0], target, schedules[4], 1e-3, threads=8))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    for most, expected in ((4, (2, 0, 3)), (2, (2, 0)), (1, (2,))):
        found = lookup.fastest(tasks[0].key, tasks[0].plan, most, 1.06)
        assert [schedule.to_json() for schedule in found] == [schedules[n] for n in expected]
    assert lookup.fastest(tasks[1].key, tasks[1].plan, 4, 1.06) == []


def test_a_schedule_that_does_not_fit_is_skipped_with_a_reason(
    tasks: list[Task], target: Target, schedules: list[str], tmp_path: Path
) -> None:
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(tasks[0], target, '{"nests":[]}', 1e-9, threads=2))
        log.append(record(tasks[0], target, schedules[0], 1e-3, threads=2))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    found = lookup(tasks[0].key, tasks[0].plan)
    assert found is not None and found.to_json() == schedules[0]
    assert list(lookup.skipped.values()) == [1]


def test_damaged_rows_are_counted_as_passed_over(
    tasks: list[Task], target: Target, schedules: list[str], tmp_path: Path
) -> None:
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(tasks[0], target, schedules[0], 1e-3, threads=2))
    with closing(sqlite3.connect(tmp_path / "log.db")) as database, database:
        database.execute("UPDATE records SET seconds = 1e-9")
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    assert lookup(tasks[0].key, tasks[0].plan) is None
    assert lookup.skipped == {"damaged rows": 1}


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
    tasks = extract_tasks(default_pipeline()(parse(CONVOLUTION)))
    task = next(task for task in tasks if "conv2d" in task.key.title)
    plan = task.plan.with_algorithm(WINOGRAD(tile=2))
    schedule = ProgramSpace(plan, machine_of(target), 2).default
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(task, target, schedule.to_json(), 1e-3, threads=2))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    assert lookup(task.key, task.plan) == schedule
    assert not lookup.skipped


def test_what_held_in_a_network_stands_for_all_that_was_measured_before(
    tasks: list[Task], target: Target, tmp_path: Path
) -> None:
    space = ProgramSpace(tasks[0].plan, machine_of(target), 2)
    random = Random(0)
    early, held, late = (space.schedule(space.space.random(random)) for _ in range(3))
    keeper = LogKeeper(tmp_path / "log.db", TuningScope(target.key, 2, CODE_VERSION))
    keeper.append(tasks[0], early, Measurement(Outcome.OK, 1e-6), [])
    keeper.keep(tasks[0], held, 2e-6, 2)

    def chosen() -> Schedule | None:
        lookup = schedule_lookup(tmp_path / "log.db", target, 2, CODE_VERSION)
        return lookup(tasks[0].key, tasks[0].plan)

    assert chosen() == held
    keeper.append(tasks[0], late, Measurement(Outcome.OK, 3e-6), [])
    assert chosen() == held  # newer, but slower
    keeper.append(tasks[0], late, Measurement(Outcome.OK, 1.5e-6), [])
    assert chosen() == late
    keeper.keep(tasks[0], early, 1e-6, 2)
    assert chosen() == early and len(keeper.kept(tasks[0])) == 1
    keeper.close()


def test_where_what_held_is_ruled_out_the_best_of_the_others_is_taken(
    target: Target, tmp_path: Path
) -> None:
    tasks = extract_tasks(default_pipeline()(parse(CONVOLUTION)), Accuracy.EXACT)
    task = next(task for task in tasks if "conv2d" in task.key.title)
    machine = machine_of(target)
    fast = task.plan.with_accuracy(Accuracy.FAST).with_algorithm(WINOGRAD(tile=2))
    held = fast.default_under_algorithm(machine, 2)[1]
    space = ProgramSpace(task.plan, machine, 2)
    slow, quick = (space.schedule(space.space.random(Random(seed))) for seed in (1, 2))
    keeper = LogKeeper(tmp_path / "log.db", TuningScope(target.key, 2, CODE_VERSION))
    keeper.append(task, slow, Measurement(Outcome.OK, 3e-6), [])
    keeper.append(task, quick, Measurement(Outcome.OK, 2e-6), [])
    keeper.keep(task, held, 1e-6, 2)
    keeper.close()
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, CODE_VERSION)
    assert lookup(task.key, fast) == held
    assert lookup(task.key, task.plan) == quick
    assert lookup.skipped == {"The algorithm winograd(tile=2) is not exact": 1}


def matrix_schedule(task: Task) -> str:
    """A schedule of the first algorithm on matrix registers."""
    plan = task.plan.with_algorithm(BF16X6())
    machine = replace(machine_of(parse_target("x86_64-linux-gnu:x86-64-v4")), intrinsics=INTRINSICS)
    return plan.default_under_algorithm(machine, 2)[1].to_json()


@pytest.mark.parametrize(
    ("name", "is_obeyed"),
    [("sapphirerapids", True), ("sapphirerapids:-amx-tile", False), ("haswell", False)],
)
def test_only_targets_with_matrix_registers_obey_their_schedules(
    name: str, is_obeyed: bool, tmp_path: Path
) -> None:
    """A log from a stranger may hold them for any target."""
    task = dense_task()
    target = parse_target(f"x86_64-linux-gnu:{name}")
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(task, target, matrix_schedule(task), 1e-6, threads=2))
    lookup = schedule_lookup(tmp_path / "log.db", target, 2, "1")
    found = lookup(task.key, task.plan)
    if is_obeyed:
        assert found is not None and found.to_json() == matrix_schedule(task)
        return
    assert found is None
    assert lookup.skipped == {"The target cannot run the algorithm bf16x6": 1}


def test_targets_with_and_without_matrix_registers_have_logs_of_their_own(tmp_path: Path) -> None:
    task = dense_task()
    tiles, plain = (
        parse_target(f"x86_64-linux-gnu:sapphirerapids{features}")
        for features in ("", ":-amx-tile")
    )
    with logs.open_log(tmp_path / "log.db") as log:
        log.append(record(task, tiles, matrix_schedule(task), 1e-6, threads=2))
    assert schedule_lookup(tmp_path / "log.db", tiles, 2, "1")(task.key, task.plan) is not None
    other = schedule_lookup(tmp_path / "log.db", plain, 2, "1")
    assert other(task.key, task.plan) is None
    assert not other.skipped


def dense_task() -> Task:
    """A product of 32 x 64 x 64."""
    x = Var("x", TensorType((32, 64), "float32"))
    dense = find_operator("nn.dense")
    assert dense is not None
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype("float32")
    module = Module({"main": Function((x,), dense(x, constant(weights)))})
    (task,) = extract_tasks(default_pipeline()(module))
    return task
