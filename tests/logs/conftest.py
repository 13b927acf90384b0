"""Records to log, and processes that log them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import logs

ROOT = Path(logs.__file__).parents[1]
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.db"


@pytest.fixture(scope="session")
def record() -> Callable[..., logs.Record]:
    """Builds a good record; any field can be given."""

    def build(number: int = 0, **changes: Any) -> logs.Record:
        fields: dict[str, Any] = {
            "workload": "matmul-64",
            "target": "x86_64-linux-gnu:haswell",
            "threads": 2,
            "code_version": "1",
            "schedule": logs.canonical_json({"tile": number}),
            "status": "ok",
            "created": 1_700_000_000.25 + number,
            "source": "host",
            "seconds": 0.001 * (number + 1),
        }
        return logs.Record(**{**fields, **changes})

    return build


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python process that runs a script with arguments, and ends it after the test."""
    processes: list[subprocess.Popen[str]] = []

    def begin(script: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that other users can reach too."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture
def without_privileges() -> Iterator[None]:
    """Let file permissions count, even when the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
