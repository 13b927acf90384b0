from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from relay_tune import parse
from relay_tune.cli import quantize as command
from relay_tune.tuning.precision.quantize import multiplies_bfloat16, multiplies_bounded_bytes
from tests.cli.conftest import Tune
from tests.quantization.networks import bound

TEXT = """
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(16, 8), float32], %b: Tensor[(16), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w), %b))
}"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.relay"
    path.write_text(bound(TEXT).astext())
    np.save(tmp_path / "data.npy", np.random.default_rng(0).random((8, 8), "float32"))
    return path


def test_a_model_of_onnx(tune: Tune, network: Path, tmp_path: Path) -> None:
    output = tmp_path / "quantized.onnx"
    words = ("--data", tmp_path / "data.npy", "-o", output, "--threads", 1, "--method", "minmax")
    outcome = tune("quantize", network, *words)
    assert outcome.code == 0, outcome.err
    assert "1 of 1 layer in int8, ranges by minmax" in outcome.out
    assert " a call, untuned" in outcome.out
    model = onnx.load(output)
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node][:2] == ["QuantizeLinear", "DequantizeLinear"]


@pytest.mark.parametrize("is_faster", [True, False])
def test_users_hear_of_weights_of_seven_bits(
    tune: Tune, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_faster: bool
) -> None:
    monkeypatch.setattr(command, "multiplies_bounded_bytes", lambda: is_faster)
    data = ("--data", tmp_path / "data.npy", "--threads", 1, "--method", "minmax")
    eight = tune("quantize", network, *data, "-o", tmp_path / "eight.relay")
    seven = tune("quantize", network, *data, "-o", tmp_path / "seven.relay", "--weight-bits", 7)
    assert ("--weight-bits 7" in eight.out) is is_faster
    assert "1 of 1 layer in int7" in seven.out and "--weight-bits" not in seven.out


def test_relay_text_and_json(tune: Tune, network: Path, tmp_path: Path) -> None:
    output = tmp_path / "quantized.relay"
    words = ("--data", tmp_path / "data.npy", "-o", output, "--threads", 1, "--method", "mse")
    outcome = tune("quantize", network, *words, "--no-time", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["samples"] == 4 and found["seconds"] is None
    assert [each["precision"] for each in found["layers"]] == ["int8"]
    assert "qnn.quantize" in parse(output.read_text()).astext()


def test_the_precision_of_each_layer_is_searched(tune: Tune, network: Path, tmp_path: Path) -> None:
    output = tmp_path / "quantized.relay"
    words = ("--data", tmp_path / "data.npy", "-o", output, "--threads", 1, "--method", "minmax")
    auto = ("--scheme", "auto", "--max-loss", 0.5, "--log", tmp_path / "tuning.db", "--seed", 1)
    outcome = tune("quantize", network, *words, *auto, "--minutes", 1, "--json")
    assert outcome.code == 0, outcome.err
    small = ["int7"] if multiplies_bounded_bytes() else []
    *others, last = [*(["bfloat16"] if multiplies_bfloat16() else []), "int8", *small]
    kinds = f"{', '.join(['float32', *others])} or {last}"
    assert outcome.err.startswith(f"1 layer in {kinds}, loss at most 0.5; up to 60 s")
    found = json.loads(outcome.out)
    assert [each["name"] for each in found["compared"]][:2] == ["float32", "int8"]
    assert found["loss"] <= 0.5 and found["seconds"] is None
    listed = tune("log", "list", tmp_path / "tuning.db")
    assert "precisions of 1 layer" in listed.out


@pytest.mark.parametrize(
    "step, word",
    [("annotate", "qnn.observe"), ("calibrate", "qnn.quantize"), ("realize", "qnn.dequantize")],
)
def test_steps_are_printed(tune: Tune, network: Path, tmp_path: Path, step: str, word: str) -> None:
    words = ("--data", tmp_path / "data.npy", "--threads", 1, "--method", "minmax")
    outcome = tune("quantize", network, *words, "--after", step)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("#[version") and word in outcome.out
