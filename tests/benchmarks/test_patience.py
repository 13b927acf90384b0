"""A process that hangs is found; one that is slow or was stopped is waited for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks.fuzzing import patience
from benchmarks.fuzzing.patience import has_answered


class Channel:
    """A channel on which the answer comes after some steps of waiting."""

    def __init__(self, steps: float) -> None:
        self.steps = steps

    def poll(self, seconds: float) -> bool:
        self.steps -= 1
        return self.steps < 0


def waits(monkeypatch: pytest.MonkeyPatch, used: Iterator[float], steps: float) -> bool:
    monkeypatch.setattr(patience, "_processor_seconds", lambda pid: next(used))
    return has_answered(Channel(steps), 0, patience=5.0)  # type: ignore[arg-type]


def test_a_process_that_works_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waits(monkeypatch, (0.01 * step for step in range(200)), 100)


def test_a_process_that_does_nothing_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not waits(monkeypatch, iter([0.5] * 7), 7)


def test_a_short_rest_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time in which everything was stopped is one step, however long it was."""
    assert waits(monkeypatch, iter([0.5] * 5), 4)


def test_what_a_process_has_used() -> None:
    worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert patience._processor_seconds(worker.pid) >= 0.0
    finally:
        worker.communicate(b"\n")
    assert patience._processor_seconds(worker.pid) == 0.0
