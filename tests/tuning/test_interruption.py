"""Ctrl-C and kill -9 at any moment: the log stays sound, and no process stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import logs

SCRIPT = """
import json, os, sys
from relay_tune.cli.left_out import unused_left_out
from relay_tune.zoo.catalogue import build

with unused_left_out():  # as the command does: scikit-learn takes a second
    from relay_tune.tuning.events import Measured
    from relay_tune.tuning.tune import tune

def show(event):
    if isinstance(event, Measured):
        os.write(1, b"measured\\n")

module = build("mlp")
result = tune(module, log=sys.argv[1], trials=100000, minutes=5, threads=2, progress=show)
os.write(1, json.dumps({"interrupted": result.interrupted, "measured": result.measured}).encode())
"""


def started(log: Path, measured: int) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    """A tuning process that has told of so many candidates, and its workers."""
    tuner = subprocess.Popen([sys.executable, "-c", SCRIPT, str(log)], stdout=subprocess.PIPE)
    assert tuner.stdout is not None
    for _ in range(measured):
        assert tuner.stdout.readline() == b"measured\n"
    return tuner, psutil.Process(tuner.pid).children(recursive=True)


def wait_until_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=5)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_ctrl_c_ends_promptly_with_everything_recorded(tmp_path: Path) -> None:
    tuner, workers = started(tmp_path / "log.db", 12)
    assert workers
    tuner.send_signal(signal.SIGINT)
    begin = time.monotonic()
    output, _ = tuner.communicate(timeout=20)
    assert time.monotonic() - begin < 10  # 2 s on a machine that does nothing else
    result = json.loads(output.splitlines()[-1])
    assert result["interrupted"]
    wait_until_gone(workers)
    with logs.open_log(tmp_path / "log.db") as log:
        assert len(list(log.history())) == result["measured"] >= 12
        assert log.claims() == []


def test_sigterm_releases_everything_and_ends_the_process(tmp_path: Path) -> None:
    tuner, workers = started(tmp_path / "log.db", 5)
    tuner.send_signal(signal.SIGTERM)
    output, _ = tuner.communicate(timeout=20)
    assert tuner.returncode == -signal.SIGTERM
    wait_until_gone(workers)
    with logs.open_log(tmp_path / "log.db") as log:
        assert len(list(log.history())) >= 5 + output.count(b"measured\n")
        assert log.claims() == []
        assert [run.state for run in log.runs()] == [logs.RunState.INTERRUPTED]


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_interrupts_in_a_row_end_it_once(tmp_path: Path, pause: float) -> None:
    tuner, workers = started(tmp_path / "log.db", 3)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        tuner.send_signal(number)
        time.sleep(pause)
    output, _ = tuner.communicate(timeout=20)
    # A run that has ended before SIGTERM comes leaves the later signals to its caller.
    assert tuner.returncode in (-signal.SIGTERM, -signal.SIGINT)
    wait_until_gone(workers)
    with logs.open_log(tmp_path / "log.db") as log:
        assert log.check().ok and log.claims() == []
        assert len(list(log.history())) >= 3 + output.count(b"measured\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of the dead")
@pytest.mark.parametrize("measured", [1, 7])
def test_kill_9_loses_nothing_and_leaves_no_process(tmp_path: Path, measured: int) -> None:
    tuner, workers = started(tmp_path / "log.db", measured)
    os.kill(tuner.pid, signal.SIGKILL)
    output, _ = tuner.communicate(timeout=20)
    acknowledged = measured + output.count(b"measured\n")
    wait_until_gone(workers)
    with logs.open_log(tmp_path / "log.db") as log:
        assert log.check().ok
        assert len(list(log.history())) >= acknowledged
        assert sum(claim.running for claim in log.stale_claims()) <= 1
        assert [run.state for run in log.runs()] == [logs.RunState.INTERRUPTED]
