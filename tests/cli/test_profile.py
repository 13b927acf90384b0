from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Tune


def test_profile_has_one_line_for_each_kernel(tune: Tune, model: Path) -> None:
    outcome = tune("profile", model, "--threads", 1)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[1].startswith("small.relay:3:11: dense+relu 4x16")


def test_profile_of_an_exact_build(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "wide.relay"
    path.write_text("""
    def @main(%x: Tensor[(1, 64, 58, 58), float32]) {
      nn.conv2d(%x, ones(shape=(64, 64, 3, 3), dtype="float32"), channels=64, kernel_size=(3, 3))
    }""")
    found = {}
    for accuracy in ("fast", "exact"):
        words = ("profile", path, "--threads", 1, "--json", "--accuracy", accuracy)
        words = (*words, "--target", "x86_64-linux-gnu:haswell")
        found[accuracy] = {row["algorithm"] for row in json.loads(tune(*words).out)["kernels"]}
    assert any("winograd(tile=4" in algorithm for algorithm in found["fast"])
    assert not any("winograd" in algorithm for algorithm in found["exact"])


def test_profile_as_json(tune: Tune, model: Path, log: Path) -> None:
    report = json.loads(tune("profile", model, "--threads", 1, "--log", log, "--json").out)
    (kernel,) = report["kernels"]
    assert kernel["title"] == "small.relay:3:11: dense+relu 4x16"
    assert kernel["nodes"] == ["small.relay:3:11", "small.relay:3:3"]
    assert kernel["operations"] >= 2 * 4 * 16 * 8
    assert report["seconds"] == kernel["seconds"]
    assert kernel["bound_by"] in ("compute", "L1")
    assert kernel["limit_share"] == kernel["limit_seconds"] / kernel["seconds"]
    assert report["limits"]["float32 operations/s, 1 threads"] > 0


def test_a_trace_is_written_beside_the_profile(tune: Tune, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    outcome = tune("profile", model, "--threads", 2, "--trace", file)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[-1] == f"timeline: {file}"
    slices = [each for each in json.loads(file.read_text())["traceEvents"] if each["ph"] == "X"]
    assert {each["name"] for each in slices} >= {
        "run 0",
        "run 4",
        "small.relay:3:11: dense+relu 4x16",
    }


def test_a_trace_is_not_written_over_the_model(tune: Tune, model: Path) -> None:
    before = model.read_text()
    outcome = tune("profile", model, "--trace", model)
    assert outcome.code == 1
    assert "this command also needs it as it is" in outcome.err
    assert model.read_text() == before
