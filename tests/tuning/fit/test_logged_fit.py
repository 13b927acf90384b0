"""Coefficients are found again in a log, kept where they choose better, and used by builds."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

import logs
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.machine.coefficients import ENTRY, FITTED, MEASURED_ON_SERVERS
from relay_tune.runtime.target_machine import machine_of
from relay_tune.tuning.fit import logged_fit
from relay_tune.tuning.fit.fit import Fit, TooLittle
from relay_tune.tuning.fit.logged_fit import fit_to_log
from relay_tune.tuning.fit.observations import logged_observations
from relay_tune.tuning.schedule_lookup import schedule_lookup
from relay_tune.tuning.tasks import Task
from tests.tuning.fit.conftest import HIDDEN, TARGET, hidden_machine, write_log


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory, layer_tasks: list[Task]) -> tuple[Path, Fit]:
    path = tmp_path_factory.mktemp("fit") / "tuning.db"
    write_log(path, layer_tasks, hidden_machine())
    with logs.open_log(path) as log:
        found = fit_to_log(log, TARGET).fit
    assert isinstance(found, Fit)
    return path, found


def test_kernels_that_were_held_out_are_chosen_better(fitted: tuple[Path, Fit]) -> None:
    _, fit = fitted
    assert fit.is_better
    assert fit.quality_after.correlation > fit.quality_before.correlation
    assert fit.quality_after.correlation > 0.97
    assert fit.quality_after.chosen <= fit.quality_before.chosen


def test_coefficients_move_to_the_hidden_ones(fitted: tuple[Path, Fit]) -> None:
    _, fit = fitted
    for name, hidden in HIDDEN.items():
        before = abs(math.log(getattr(MEASURED_ON_SERVERS, name) / hidden))
        assert abs(math.log(getattr(fit.after, name) / hidden)) < before, name


def test_builds_with_the_log_use_them(fitted: tuple[Path, Fit]) -> None:
    path, fit = fitted
    known = schedule_lookup(path, TARGET, 1, CODE_VERSION)
    assert machine_of(TARGET, known.limits, known.logged).coefficients == fit.after
    assert machine_of(TARGET).coefficients == MEASURED_ON_SERVERS


def test_a_second_fit_begins_with_the_first_one(
    fitted: tuple[Path, Fit], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fit = fitted
    begun = []
    monkeypatch.setattr(
        logged_fit, "fit_coefficients", lambda _, machine: begun.append(machine) or TooLittle(0, 0)
    )
    with logs.open_log(path) as log:
        fit_to_log(log, TARGET)
    assert [machine.coefficients for machine in begun] == [fit.after]


def test_what_is_as_good_already_stays(tmp_path: Path, layer_tasks: list[Task]) -> None:
    path = tmp_path / "tuning.db"
    write_log(path, layer_tasks, TARGET.machine)
    with logs.open_log(path) as log:
        fit = fit_to_log(log, TARGET).fit
        assert isinstance(fit, Fit) and not fit.is_better
        assert fit.best == MEASURED_ON_SERVERS
        assert not any(name.startswith(ENTRY) for name in log.limits(TARGET.key))


def test_few_measurements_fit_nothing(tmp_path: Path, layer_tasks: list[Task]) -> None:
    path = tmp_path / "tuning.db"
    write_log(path, layer_tasks[:2], TARGET.machine)
    with logs.open_log(path) as log:
        found = fit_to_log(log, TARGET)
    assert isinstance(found.fit, TooLittle) and found.fit.kernels == 2


def test_records_without_a_program_are_counted(log_path: Path, layer_tasks: list[Task]) -> None:
    lost, changed, huge = (task.key.digest for task in layer_tasks[:3])
    large = "fn (%w: Tensor[(9999999999, 9999999999), float64]) { nn.relu(%w) }"
    with logs.open_log(log_path) as log:
        log.put_task(lost, "{}")
        log.put_task(huge, json.dumps({"program": f"def @main{large[3:]}", "weights": ["w"]}))
        log.put_task(changed, '{"program": "def @main() { 1f }", "weights": []}')
        skipped: Counter[str] = Counter()
        found = logged_observations(log, TARGET.key, CODE_VERSION, TARGET.machine, skipped)
    assert skipped["the kernel's program is not in the log"] > 0
    assert skipped["the kernel's program cannot be read"] > 0
    assert {each.kernel[0] for each in found} == {t.key.digest for t in layer_tasks[3:]}


def test_rows_that_cannot_be_coefficients_are_passed_over() -> None:
    rows = {
        "load": 0.2,
        "spill": 0.0,
        "tile": 1e9,
        "partial_row": 0.9,
        "kernel": math.nan,
        "x": 1.0,
    }
    rows = {f"{ENTRY}{name}": value for name, value in rows.items()}
    found = MEASURED_ON_SERVERS.with_entries(rows)
    assert found == MEASURED_ON_SERVERS.changed({"load": 0.2})
    assert MEASURED_ON_SERVERS.with_entries(found.entries()) == found
    assert set(found.entries()) == {f"{ENTRY}{name}" for name in FITTED}
