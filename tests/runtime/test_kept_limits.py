from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.runtime import kept_limits as kept
from relay_tune.runtime.kept_limits import PROCESSES, kept_limits
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits

CALM = MachineLimits(1, {"float32": 1e11}, (CacheLimit(1e5, 2e11),), 4e10)
BUSY = MachineLimits(1, {"float32": 9e10}, (CacheLimit(1e5, 5e10),), 5e10)


class Machine:
    """A machine whose limits are measured to be these; counts how often."""

    def __init__(self, folder: Path | None, target: Target | None = None) -> None:
        self.folder = folder
        self.target = native_target() if target is None else target
        self.measured = 0

    def process(self, now: MachineLimits) -> MachineLimits:
        """What a process takes for the limits, if it would measure these."""

        def measure() -> MachineLimits:
            self.measured += 1
            return now

        return kept_limits(self.target, now.threads, measure, self.folder)

    @property
    def file(self) -> Path:
        """The only one in its folder."""
        assert self.folder is not None
        (file,) = self.folder.iterdir()
        return file


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "relay_tune")


def test_the_highest_rates_of_several_processes_stay(machine: Machine) -> None:
    assert machine.process(BUSY) == BUSY
    assert machine.process(CALM) == replace(CALM, memory=BUSY.memory)
    assert machine.process(BUSY) == replace(CALM, memory=BUSY.memory)


def test_processes_after_the_first_ones_measure_nothing(machine: Machine) -> None:
    found = [machine.process(CALM) for _ in range(PROCESSES + 3)]
    assert found == [CALM] * (PROCESSES + 3)
    assert machine.measured == PROCESSES


def test_rates_that_never_repeated_are_measured_on(machine: Machine) -> None:
    unsure = replace(BUSY, disturbed=1)
    for _ in range(PROCESSES + 2):
        assert machine.process(unsure) == unsure
    assert machine.measured == PROCESSES + 2
    assert not machine.process(CALM).disturbed
    machine.process(CALM)
    assert machine.measured == PROCESSES + 3


def test_each_number_of_threads_has_its_own(machine: Machine) -> None:
    two = replace(CALM, threads=2, memory=7e10)
    machine.process(CALM)
    assert machine.process(two) == two
    assert machine.process(CALM) == CALM


def test_a_home_may_be_shared_by_processors(tmp_path: Path) -> None:
    here, there = Machine(tmp_path), Machine(tmp_path, parse_target("x86_64-linux-gnu:haswell"))
    here.process(CALM)
    assert there.process(BUSY) == BUSY


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"[1]", b"null", b"\xff"),
        *(b'{"x": NaN}', b'{"x": 1' + 400 * b"0" + b"}", b'{"memory bytes/s, 1 threads": "many"}'),
        pytest.param(200_000 * b"[", id="lists in lists"),
    ],
)
def test_damaged_files_are_written_anew(machine: Machine, text: bytes) -> None:
    machine.process(CALM)
    machine.file.write_bytes(text)
    assert machine.process(BUSY) == BUSY
    assert machine.process(BUSY) == BUSY
    assert b"float32 operations/s, 1 threads" in machine.file.read_bytes()


def test_where_nothing_can_be_written_each_process_measures(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    machine = Machine(tmp_path / "file" / "below")
    with caplog.at_level(logging.DEBUG, "relay_tune"):
        assert machine.process(BUSY) == BUSY
    assert machine.process(CALM) == CALM
    assert "are not kept" in caplog.text


def test_the_folder_is_that_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    Machine(None).process(CALM)
    assert [each.name for each in tmp_path.iterdir()] == ["own"]
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    Machine(None).process(CALM)
    assert len(list((tmp_path / "home" / ".cache" / "relay_tune").iterdir())) == 1


def test_users_without_a_home_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(kept.Path, "home", _nobody)
    assert Machine(None).process(CALM) == CALM


def _nobody() -> Path:
    raise RuntimeError("Could not determine home directory.")
