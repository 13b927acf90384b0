"""The verb `fit`: what it prints, and what the log has afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import logs
from relay_tune.codegen.target import native_target
from relay_tune.machine.coefficients import ENTRY, FITTED, MEASURED_ON_SERVERS
from relay_tune.tuning.fit import logged_fit
from relay_tune.tuning.fit.fit import Fit
from relay_tune.tuning.fit.quality import Quality
from tests.cli.conftest import Tune

WORSE, BETTER = Quality(0.5, 1.2, 8), Quality(0.7, 1.1, 8)
FOUND = MEASURED_ON_SERVERS.changed({"load": 0.2})


def given(monkeypatch: pytest.MonkeyPatch, before: Quality, after: Quality) -> None:
    fit = Fit(MEASURED_ON_SERVERS, FOUND, before, after, 24, 400)
    monkeypatch.setattr(logged_fit, "fit_coefficients", lambda observations, machine: fit)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with logs.open_log(tmp_path / "tuning.db"):
        return tmp_path / "tuning.db"


def kept(path: Path) -> dict[str, float]:
    with logs.open_log(path, readonly=True) as log:
        return log.limits(native_target().key)


def test_better_coefficients_are_kept(
    tune: Tune, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, WORSE, BETTER)
    lines = tune("fit", path).out.splitlines()
    assert lines[0] == f"400 measurements of 24 kernels on {native_target().key}"
    assert lines[1:4] == [
        "on 8 kernels that were held out:",
        "  as they were  chosen / best 1.200  rank correlation 0.500",
        "  fitted        chosen / best 1.100  rank correlation 0.700",
    ]
    assert lines[4:] == [
        "  load: 0.1 -> 0.2",
        f"Builds and runs with {path} use the fitted coefficients.",
    ]
    assert kept(path) == FOUND.entries()


def test_others_are_not(tune: Tune, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, BETTER, WORSE)
    assert tune("fit", path).out.splitlines()[-1] == "The coefficients stay as they were."
    assert kept(path) == {}


def test_scripts_are_told_the_same(tune: Tune, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, WORSE, BETTER)
    found = json.loads(tune("fit", path, "--json").out)
    assert found["kept"] and found["coefficients"]["load"] == 0.2
    assert found["held_out"]["after"] == {"correlation": 0.7, "chosen": 1.1, "kernels": 8}
    assert set(found["coefficients"]) == set(FITTED)
    assert kept(path)[f"{ENTRY}load"] == 0.2


def test_a_log_with_too_little_says_so(tune: Tune, path: Path) -> None:
    outcome = tune("fit", path)
    assert outcome.code == 0
    assert "too little" in outcome.out and "stay as they were" in outcome.out
    assert json.loads(tune("fit", path, "--json").out)["kept"] is False


def test_a_missing_log_is_an_error(tune: Tune, tmp_path: Path) -> None:
    outcome = tune("fit", tmp_path / "none.db")
    assert outcome.code == 1 and "none.db" in outcome.err
    assert not (tmp_path / "none.db").exists()
