from __future__ import annotations

import json
from pathlib import Path

from relay_tune import load, parse, tune
from tests.cli.conftest import TEXT, Tune


def tuned_log(folder: Path) -> Path:
    log = folder / "tuned.db"
    tune(parse(TEXT), log=log, trials=1, threads=1)
    return log


def test_build_without_a_log(tune: Tune, model: Path, tmp_path: Path) -> None:
    library = tmp_path / "model.so"
    outcome = tune("build", model, "-o", library, "--threads", 1)
    assert outcome.code == 0, outcome.err
    assert outcome.out == f"{library}, {tmp_path / 'model.h'}: 0 of 1 kernel tuned\n"
    assert list(load(library).inputs) == ["x", "w"]


def test_build_with_a_log_says_how_much_it_knew(tune: Tune, model: Path, tmp_path: Path) -> None:
    log, library = tuned_log(tmp_path), tmp_path / "model.so"
    words = ("build", model, "-o", library, "--log", log, "--threads", 1, "--require-tuned")
    outcome = tune(*words, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["tuned"] == 1


def test_build_that_requires_a_tuned_model(
    tune: Tune, model: Path, tmp_path: Path, log: Path
) -> None:
    library = tmp_path / "model.so"
    outcome = tune("build", model, "-o", library, "--log", log, "--require-tuned")
    assert outcome.code == 1
    assert "no schedule for 1 of 1 kernel." in outcome.err
    assert "dense+relu 4x16" in outcome.err
    assert not library.exists()


def test_build_needs_an_output(tune: Tune, model: Path) -> None:
    assert tune("build", model).code == 2


def test_a_missing_log_is_an_error_and_none_is_created(
    tune: Tune, model: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "missing.db"
    outcome = tune("build", model, "-o", tmp_path / "m.so", "--log", missing)
    assert outcome.code == 1
    assert str(missing) in outcome.err
    assert not missing.exists()


def test_build_with_a_limit_of_memory(tune: Tune, model: Path, tmp_path: Path) -> None:
    library = tmp_path / "model.so"
    words = ("build", model, "-o", library, "--threads", 1, "--memory-limit")
    outcome = tune(*words, "1.5MB")
    assert outcome.code == 0, outcome.err
    outcome = tune(*words, "64 parsecs")
    assert outcome.code == 2
    assert "'64 parsecs' is no number of bytes such as 1500000, 64MB or 1.5GB" in outcome.err
