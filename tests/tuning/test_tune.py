"""Tuning for real: small networks, few candidates, this machine."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

import logs
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.errors import InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.loops import Kernel
from relay_tune.tuning.events import Event, Measured, PhaseStarted
from relay_tune.tuning.log_keeper import LogKeeper
from relay_tune.tuning.result import TuningResult
from relay_tune.tuning.schedule_lookup import schedule_lookup
from relay_tune.tuning.scope import TuningScope
from relay_tune.tuning.tasks import Task
from relay_tune.tuning.tune import tune
from relay_tune.zoo.catalogue import build
from tests.tuning.conftest import TWO_LAYERS

pytestmark = pytest.mark.builds_apart

BUDGET = {"trials": 16, "minutes": 2, "threads": 2}


@pytest.fixture(scope="module")
def tuned_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[TuningResult, Path]:
    """Two layers that are tuned, and the log of that."""
    path = tmp_path_factory.mktemp("tuned") / "log.db"
    return tune(parse(TWO_LAYERS), log=path, **BUDGET), path


def test_a_network_is_tuned_and_its_log_serves_builds(
    tasks: list[Task], target: Target, tuned_once: tuple[TuningResult, Path]
) -> None:
    result, path = tuned_once
    assert result.measured == 16
    assert result.outcomes == {"ok": 16}
    assert result.model_seconds is not None and result.default_model_seconds is not None
    assert result.model_seconds <= result.default_model_seconds
    assert result.network is not None and result.network.tuned <= result.network.untuned
    lookup = schedule_lookup(path, target, 2, CODE_VERSION)
    keeper = LogKeeper(path, TuningScope(target.key, 2, CODE_VERSION))
    for task in tasks:
        marks = {mark.scope.threads: mark.schedule for mark in keeper.kept(task)}
        assert set(marks) == {1, 2}
        schedule = lookup(task.key, task.plan)
        assert schedule is not None and schedule.to_json() == marks[2]
        best = min(
            (record for record in keeper.history(task) if record.seconds is not None),
            key=lambda record: record.seconds or 0.0,
        )
        default = task.plan.default_schedule(machine_of(target), 2).to_json()
        assert marks[2] in {default, *(record.schedule for record in keeper.history(task))}
        assert best.measurements >= 2 or best.schedule == default  # winners are measured again
    keeper.close()
    assert not lookup.skipped


def test_tuning_again_measures_nothing(
    module: Module, tuned_once: tuple[TuningResult, Path]
) -> None:
    result, path = tuned_once
    assert result.measured > 0
    assert [file.name for file in path.parent.iterdir()] == ["log.db"]  # nothing holds it open
    assert tune(module, log=path, **BUDGET).measured == 0


def test_the_log_keeps_what_estimates_know_of_the_machine(
    module: Module, target: Target, tmp_path: Path
) -> None:
    path = tmp_path / "log.db"
    caches = (CacheLimit(1 << 15, 1e9), CacheLimit(1 << 20, 5e8))
    known = MachineLimits(1, {"float32": 1e9}, caches, 1e8)
    with logs.open_log(path) as log:
        for name, value in known.entries().items():
            log.put_limit(target.key, name, value)
    tune(module, log=path, trials=2, minutes=2, threads=2)
    assert schedule_lookup(path, target, 2, CODE_VERSION).limits == known
    with logs.open_log(path, readonly=True) as log:
        assert MachineLimits.from_entries(log.limits(target.key), 2) is not None


@pytest.mark.parametrize("name", ["squeezenet1_1", "bert_base", "lstm"])
def test_default_schedules_of_small_networks_are_right(name: str, tmp_path: Path) -> None:
    module = build(name, small=True)
    result = tune(module, log=tmp_path / "log.db", trials=12, minutes=2, threads=2)
    assert result.outcomes.get("ok") == result.measured > 0


def test_other_machines_cannot_be_measured(module: Module, tmp_path: Path) -> None:
    other = "aarch64-linux-gnu:cortex-a72"
    if native_target().triple.startswith("aarch64"):
        other = "x86_64-linux-gnu:haswell"
    with pytest.raises(InputError, match="cannot be measured on this machine"):
        tune(module, log=tmp_path / "log.db", target=other)
    assert not (tmp_path / "log.db").exists()


def test_older_processors_of_this_kind_are_tuned_for_here(module: Module, tmp_path: Path) -> None:
    own = native_target()
    cpu = "x86-64-v2" if own.triple.startswith("x86_64") else "generic"
    older = parse_target(f"{own.triple}:{cpu}")
    log = tmp_path / "log.db"
    result = tune(module, log=log, trials=4, minutes=1, target=older, threads=1)
    assert result.outcomes.get("ok") == result.measured > 0
    again = tune(module, log=log, trials=4, minutes=1, target=older, threads=1)
    assert again.measured == 0


def test_tasks_that_there_is_no_time_to_plan_are_left_to_the_next_run(
    module: Module, tmp_path: Path
) -> None:
    phases: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, PhaseStarted):
            phases.append(str(event))

    first = tune(module, log=tmp_path / "log.db", minutes=1e-6, threads=1, progress=note)
    assert first.out_of_time and first.measured == 0 and first.network is None
    assert len(first.tasks) == 1
    assert phases[:2] == ["planning 0/2", "planning 1/2"]
    second = tune(module, log=tmp_path / "log.db", trials=4, minutes=2, threads=1, progress=note)
    assert len(second.tasks) == 2 and second.measured == 4 and not second.out_of_time
    assert {"planning 2/2", "measuring the winners again 0/2", "timing the whole network 0/1"} <= {
        *phases
    }


@pytest.mark.skipif(os.name != "posix", reason="timers of POSIX")
@pytest.mark.parametrize(
    ("phase", "measured"),
    [("planning 0/2", 0), ("planning 1/2", 0), ("measuring the winners again 0/2", 4)],
)
def test_an_alarm_ends_any_phase_and_what_was_measured_stays(
    module: Module, tmp_path: Path, phase: str, measured: int
) -> None:
    def ring(event: Event) -> None:
        if str(event) == phase:
            signal.raise_signal(signal.SIGALRM)

    log = tmp_path / "log.db"
    result = tune(module, log=log, trials=4, minutes=2, threads=1, progress=ring)
    assert (result.measured, result.out_of_time) == (measured, True)
    with logs.open_log(log) as opened:
        assert len(list(opened.history())) == measured and opened.claims() == []


def test_no_code_outlives_its_round_and_no_nest_its_run(module: Module, tmp_path: Path) -> None:
    held: set[int] = set()

    def count(event: Event) -> None:
        if isinstance(event, Measured):
            held.add(_living(Kernel))

    gc.collect()
    gc.freeze()  # what is there before is not searched again and again
    try:
        log = tmp_path / "log.db"
        result = tune(module, log=log, trials=20, minutes=2, threads=1, progress=count)
        assert result.measured == 20 and held == {0}
        assert _living(Nest) == 0
    finally:
        gc.unfreeze()


def _living(kind: type) -> int:
    """How many objects of a class live that are not frozen."""
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())
