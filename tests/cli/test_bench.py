from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from relay_tune.cli import turns
from tests.cli.conftest import Tune


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.0)


def test_variants_are_compared_with_the_first(tune: Tune, model: Path, log: Path) -> None:
    outcome = tune("bench", model, "--log", log, "--repeat", 1, "--threads", 1, "--json")
    assert outcome.code == 0, outcome.err
    untuned, tuned = json.loads(outcome.out)
    assert (untuned["variant"], untuned["ratio"]) == ("untuned", 1.0)
    assert tuned["variant"] == "tuned"
    assert tuned["ratio"] == pytest.approx(untuned["median_seconds"] / tuned["median_seconds"])


def test_the_table_has_one_line_for_each(tune: Tune, model: Path) -> None:
    lines = tune("bench", model, "--repeat", 1, "--threads", 1).out.splitlines()
    assert lines[0].split()[:4] == ["variant", "median", "min", "max"]
    assert lines[1].startswith("untuned")
    assert len(lines) == 2


def test_against_onnxruntime(tune: Tune, model: Path) -> None:
    pytest.importorskip("onnxruntime")
    words = ("bench", model, "--repeat", 1, "--threads", 1, "--against", "onnxruntime", "--json")
    assert [line["variant"] for line in json.loads(tune(*words).out)] == ["untuned", "onnxruntime"]


def test_a_missing_package_is_one_error(
    tune: Tune, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    outcome = tune("bench", model, "--against", "onnxruntime")
    assert outcome.code == 1
    assert "pip install onnxruntime" in outcome.err


def test_open_shapes_are_refused(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "open.relay"
    path.write_text("def @main(%x: Tensor[(?), float32]) { nn.relu(%x) }")
    outcome = tune("bench", path)
    assert outcome.code == 1
    assert "'x'" in outcome.err
