"""Small models and logs for the command, and a way to run it in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import logs
from relay_tune.cli.main import main
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits

TEXT = """
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""
TARGET = "x86_64-linux-gnu:haswell"


class Outcome(NamedTuple):
    """What a run of the command gave."""

    code: int
    out: str
    err: str


Tune = Callable[..., Outcome]


@pytest.fixture
def tune(capsys: pytest.CaptureFixture[str]) -> Tune:
    def run(*words: object) -> Outcome:
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.relay"
    path.write_text(TEXT)
    return path


@pytest.fixture
def record() -> Callable[..., logs.Record]:
    def build(tile: int, seconds: float | None, workload: str = "dense-4x8") -> logs.Record:
        return logs.Record(
            workload=workload,
            target=TARGET,
            threads=2,
            code_version="1",
            schedule=logs.canonical_json({"tile": tile}),
            status=logs.Status.OK if seconds is not None else logs.Status.CRASH,
            created=1_700_000_000.0 + tile,
            source="host",
            seconds=seconds,
        )

    return build


@pytest.fixture
def log(tmp_path: Path, record: Callable[..., logs.Record]) -> Path:
    path = tmp_path / "tuning.db"
    with logs.open_log(path) as opened:
        described = {
            "title": "dense+relu 4x16 <b>",
            "operations": 1000,
            "bytes": 10,
            "algorithms": [{"operations": {"float32": 1000}, "bytes": 10}],
        }
        opened.put_task("dense-4x8", json.dumps(described))
        limits = MachineLimits(2, {"float32": 2e6}, (CacheLimit(1e5, 1e9),), 1e8)
        for name, value in limits.entries().items():
            opened.put_limit(TARGET, name, value)
        for tile, seconds in ((1, 4e-3), (2, None), (3, 1e-3), (4, 2e-3)):
            opened.append(record(tile, seconds))
        opened.append(record(1, 5e-6, "unnamed"))
    return path
