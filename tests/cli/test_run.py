from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import logs
from relay_tune import load, zoo
from relay_tune.cli import run as verb
from relay_tune.errors import BuildError
from tests.cli.conftest import Tune

ROOT = Path(__file__).parents[2]


def no_libraries(triple: str) -> None:
    raise BuildError("Libraries are written for Linux.", remedy="Choose a Linux target.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_tunes_logs_and_writes_a_library(tune: Tune, model: Path, folder: Path) -> None:
    outcome = tune("run", model, "--trials", 3, "--threads", 1)
    assert outcome.code == 0, outcome.err
    assert "1 kernel, 0 records in the log; up to 3 candidates" in outcome.out
    assert "small.so, small.h" in outcome.out
    assert {"small.so", "small.h", "tuning.db"} <= {path.name for path in folder.iterdir()}
    with logs.open_log("tuning.db") as log:
        assert len(list(log.history())) == 3
    x, w = np.ones((4, 8), np.float32), np.ones((16, 8), np.float32)
    np.testing.assert_array_equal(load("small.so")(x, w), np.full((4, 16), 8, np.float32))


def test_a_second_run_measures_nothing_twice(tune: Tune, model: Path) -> None:
    words = ("run", model, "--trials", 2, "--threads", 1, "--json")
    first, second = (json.loads(tune(*words).out) for _ in range(2))
    assert (first["measured"], second["measured"]) == (2, 0)
    assert first["library"] == second["library"] == "small.so"
    assert second["tuned_seconds"] > 0


def test_where_no_library_can_be_written_it_tunes_and_fails_with_the_reason(
    tune: Tune, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "check_library_target", no_libraries)
    outcome = tune("run", model, "--trials", 1, "--threads", 1)
    assert outcome.code == 1
    assert "no library was written: Libraries are written for Linux." in outcome.err
    assert "Choose a Linux target." in outcome.err
    assert not Path("small.so").exists()
    assert Path("tuning.db").exists()


def test_a_library_that_was_asked_for_needs_a_target_that_has_them(
    tune: Tune, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "check_library_target", no_libraries)
    assert tune("run", model, "-o", "model.so").code == 1
    assert not Path("tuning.db").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("-o", "no/such/model.so"), "there is no folder"),
        (("--log", "."), "folder"),
        (("--log", "small.relay"), "small.relay"),
        (("--target", "nonsense"), "nonsense"),
        (("--target", "aarch64-linux-gnu:cortex-a72"), "cannot be measured on this machine"),
    ],
)
def test_what_cannot_work_is_refused_before_the_work(
    tune: Tune, model: Path, folder: Path, words: tuple[str, ...], complaint: str
) -> None:
    before = sorted(folder.iterdir())
    outcome = tune("run", model, *words)
    assert outcome.code == 1
    assert outcome.err.startswith("tune: error: ")
    assert complaint in outcome.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no function @main"),
        ("def @main(%x: Tensor[(?), float32]) { nn.relu(%x) }", "--shape"),
        ("def @main(%x: Tensor[(2), float32]) { nn.dense(%x, %x) }", "nn.dense"),
    ],
)
def test_a_model_that_cannot_be_built_is_not_tuned(
    tune: Tune, folder: Path, text: str, complaint: str
) -> None:
    (folder / "odd.relay").write_text(text)
    outcome = tune("run", "odd.relay")
    assert outcome.code == 1
    assert complaint in outcome.err
    assert [path.name for path in folder.iterdir()] == ["odd.relay"]


@pytest.mark.parametrize("words", [("--trials", 0), ("--minutes", "inf"), ("--threads", -1)])
def test_senseless_numbers_are_code_2(tune: Tune, words: tuple[object, ...]) -> None:
    assert tune("run", "zoo:mlp", *words).code == 2


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_where_time_is_over_before_anything_is_measured_a_library_is_written_and_that_is_said(
    tune: Tune, model: Path, options: tuple[str, ...]
) -> None:
    outcome = tune("run", model, "--minutes", 1e-6, "--threads", 1, *options)
    assert outcome.code == 1
    assert "tune: error: Nothing was measured: the time, 0:00 minutes, was over" in outcome.err
    assert "The library small.so has default schedules." in outcome.err
    assert load("small.so").inputs.keys() == {"x", "w"}
    if options:
        found = json.loads(outcome.out)
        assert found["measured"] == 0 and found["out_of_time"] and found["library"] == "small.so"
        assert found["reason"].startswith("Nothing was measured")
    assert tune("run", model, "--trials", 2, "--threads", 1).code == 0
    again = tune("run", model, "--minutes", 1e-6, "--threads", 1)
    assert again.code == 1 and "small.so has what the log has" in again.err


def test_a_library_that_is_late_is_written_and_that_is_said(
    tune: Tune, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "running_seconds", lambda: 190.0)
    outcome = tune("run", model, "--trials", 2, "--threads", 1, "--json")
    found = json.loads(outcome.out)
    assert (found["library"], found["out_of_time"]) == ("small.so", True)
    assert "the library was ready 10 s after the time was over" in outcome.err


def test_json_has_what_the_text_has(tune: Tune, model: Path) -> None:
    words = ("run", model, "--trials", 3, "--threads", 1)
    text = tune(*words).out
    assert "the kernels by themselves: untuned" in text
    assert "the whole network" in text
    found = json.loads(tune(*words, "--log", "other.db", "--json").out)
    assert (found["library"], found["header"]) == ("small.so", "small.h")
    (task,) = found["tasks"]
    assert task["trials"] == 3 and task["best_seconds"] > 0 and "title" in task
    network = found["network"]
    assert network["untuned"] > 0 and network["tuned"] > 0
    if network["interval"] is None:
        assert network["ratio"] == 1.0
    else:
        assert network["interval"][0] <= network["ratio"] <= network["interval"][1]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("signals", "code"),
    [([signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGINT] * 3, 130)],
    ids=["Ctrl-C", "SIGTERM", "three times Ctrl-C"],
)
def test_a_signal_ends_it_with_its_code_and_a_sound_log(
    folder: Path, signals: list[signal.Signals], code: int
) -> None:
    assert "mlp" in zoo.names()
    words = [sys.executable, "-m", "relay_tune", "run", "zoo:mlp", "--threads", "1"]
    process = subprocess.Popen(
        words,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    assert process.stdout is not None
    while "candidates" not in process.stdout.readline() and process.poll() is None:
        time.sleep(0.01)
    process.stdout.readline()
    for number in signals:
        process.send_signal(number)
        time.sleep(0.02)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "interrupted; the log tuning.db has all that was measured" in out
    with logs.open_log(folder / "tuning.db") as log:
        assert log.check().ok
        assert log.claims() == []
        assert log.runs()[-1].state == logs.RunState.INTERRUPTED
