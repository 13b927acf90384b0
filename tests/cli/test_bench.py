from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from relay_tune.cli.peers.catalogue import PEERS
from relay_tune.errors import InputError
from relay_tune.tuning import turns
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


@pytest.mark.parametrize("peer", ["onnxruntime", "openvino"])
def test_against_another_runtime(tune: Tune, model: Path, peer: str) -> None:
    pytest.importorskip(peer)
    words = ("bench", model, "--repeat", 5, "--threads", 1, "--against", peer, "--json")
    own, other = json.loads(tune(*words).out)
    assert (own["variant"], other["variant"]) == ("untuned", peer)
    assert own["difference"] < 1e-5
    assert other["difference"] is None
    low, high = other["interval"]
    assert low <= other["ratio"] <= high
    assert own["interval"] is None


def test_against_torch_and_another(tune: Tune, model: Path) -> None:
    for package in ("torch", "onnxruntime"):
        pytest.importorskip(package)
    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler")
    against = ("--against", "onnxruntime", "--against", "torch")
    head, *lines = tune("bench", model, "--repeat", 1, "--threads", 1, *against).out.splitlines()
    assert head.endswith("difference to onnxruntime")
    assert [line.split()[0] for line in lines] == ["untuned", "onnxruntime", "torch"]
    assert float(lines[2].split()[-1]) < 1e-5


@pytest.mark.parametrize("peer, package", [("onnxruntime",) * 2, ("openvino",) * 2, ("torch",) * 2])
def test_a_missing_package_is_one_error(
    tune: Tune, model: Path, monkeypatch: pytest.MonkeyPatch, peer: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    outcome = tune("bench", model, "--against", peer)
    assert outcome.code == 1
    assert f"pip install {package}" in outcome.err


def test_a_model_that_another_runtime_refuses_is_one_error(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    node = onnx.helper.make_node("Sigmoid", ["x"], ["y"])
    types = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.INT8, [4]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", types[:1], types[1:])
    odd = tmp_path / "odd.onnx"
    onnx.save(onnx.helper.make_model(graph), odd)
    with pytest.raises(InputError, match="ONNX Runtime refuses the model"):
        PEERS["onnxruntime"].checked(odd, {"x": np.zeros(4, np.int8)}, 1)


def test_open_shapes_are_refused(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "open.relay"
    path.write_text("def @main(%x: Tensor[(?), float32]) { nn.relu(%x) }")
    outcome = tune("bench", path)
    assert outcome.code == 1
    assert "'x'" in outcome.err


def test_a_library_takes_turns_with_the_builds(tune: Tune, model: Path, tmp_path: Path) -> None:
    library = tmp_path / "small.so"
    built = tune("build", model, "--threads", 1, "-o", library)
    assert built.code == 0, built.err
    words = ("bench", model, "--repeat", 1, "--threads", 1, "--library", library, "--json")
    outcome = tune(*words)
    assert outcome.code == 0, outcome.err
    assert [each["variant"] for each in json.loads(outcome.out)] == ["untuned", str(library)]


def test_a_library_of_another_model_is_one_error(tune: Tune, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.relay"
    other.write_text("def @main(%a: Tensor[(4), float32]) { nn.relu(%a) }")
    library = tmp_path / "other.so"
    assert tune("build", other, "-o", library).code == 0
    outcome = tune("bench", model, "--repeat", 1, "--library", library)
    assert outcome.code == 1
    assert outcome.err.startswith("tune: error: ")
    assert "other.so is a library of another model" in outcome.err


def test_a_library_in_place_of_a_model_is_told_where_to_go(tune: Tune) -> None:
    assert "tune bench MODEL --library small.so" in tune("bench", "small.so").err
