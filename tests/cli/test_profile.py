from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Tune


def test_profile_has_one_line_for_each_kernel(tune: Tune, model: Path) -> None:
    outcome = tune("profile", model, "--threads", 1)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[1].startswith("dense+relu 4x16")


def test_profile_as_json(tune: Tune, model: Path, log: Path) -> None:
    report = json.loads(tune("profile", model, "--threads", 1, "--log", log, "--json").out)
    (kernel,) = report["kernels"]
    assert kernel["title"] == "dense+relu 4x16"
    assert kernel["operations"] >= 2 * 4 * 16 * 8
    assert report["seconds"] == kernel["seconds"]
    assert kernel["bound_by"] in ("compute", "L1")
    assert kernel["limit_share"] == kernel["limit_seconds"] / kernel["seconds"]
    assert report["limits"]["float32 operations/s, 1 threads"] > 0
