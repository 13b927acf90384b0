"""A log of one network with two kernels, and its page."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import logs
from relay_tune.cli.main import main
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.tuning.network_times import NetworkTimes
from relay_tune.tuning.run_record import RunRecord
from relay_tune.tuning.scope import TuningScope

SCOPE = TuningScope("x86_64-linux-gnu:haswell", 2, "9")
KERNELS = {
    "conv": ("conv2d+relu 1x8x8x64", 200_000_000, 2_000_000, [4e-3, None, 1e-3, 2e-3], 3),
    "pool": ("max_pool2d 1x4x4x64", 1_000_000, 4_000_000, [5e-4], 1),
    "move": ("transpose 64x64 <b>", 0, 32_768, [4e-6, 2e-6], 1),
}

NODES = ("stem", "block/conv <i>", "block/conv2")
WHOLE = NetworkTimes(14e-3, 4e-3, 3.5, (3.4, 3.6))


def limits() -> MachineLimits:
    return MachineLimits(
        2, {"float32": 4e11}, (CacheLimit(65536.0, 4e11), CacheLimit(1e6, 2e11)), 2e10
    )


HALF: list[dict[str, Any]] = [{"name": "strassen"}]
OTHER: list[dict[str, Any]] = [{"name": "rows", "block": 8}]
"""Algorithms of the log, in their JSON form."""


@pytest.fixture
def network_log(tmp_path: Path) -> Path:
    path = tmp_path / "net.db"
    with logs.open_log(path) as log:
        for name, value in limits().entries().items():
            log.put_limit(SCOPE.target, name, value)
        created = 1_700_000_000.0
        for digest, (title, operations, moved, times, _) in KERNELS.items():
            own = {"operations": {"float32": operations // 2}, "bytes": moved, "names": [HALF]}
            all_of_it = {
                "operations": {"float32": operations},
                "bytes": moved,
                "names": [[], OTHER],
            }
            described = {
                "title": title,
                "operations": operations,
                "bytes": moved,
                "algorithms": [all_of_it, own],
            }
            log.put_task(digest, json.dumps(described))
            for number, seconds in enumerate(times):
                created += 7.0
                algorithm = HALF if number == 2 else OTHER
                log.append(_record(digest, number, algorithm, seconds, created))
        kernels = tuple((digest, each[-1]) for digest, each in KERNELS.items())
        titles = (("conv", "stem: conv2d+relu 1x64x8x8"),)
        record = RunRecord("small_net", SCOPE, kernels, titles, (("conv", NODES),))
        run = log.begin_run(json.dumps(record.to_json()))
        log.end_run(run, "finished")
        log.note_results(run, json.dumps({"network": asdict(WHOLE)}))
    return path


def _record(
    digest: str, number: int, algorithm: list[dict[str, Any]], seconds: float | None, created: float
) -> logs.Record:
    nest = {"tile": [number + 1, 16], "lanes": 8}
    return logs.Record(
        workload=digest,
        target=SCOPE.target,
        threads=SCOPE.threads,
        code_version=SCOPE.code_version,
        schedule=logs.canonical_json({"algorithm": algorithm, "nests": [nest]}),
        status=logs.Status.OK if seconds is not None else logs.Status.CRASH,
        created=created,
        source="host",
        seconds=seconds,
    )


@pytest.fixture
def network_page(network_log: Path, tmp_path: Path) -> Path:
    path = tmp_path / "net.html"
    assert main(["report", str(network_log), "-o", str(path)]) == 0
    return path
