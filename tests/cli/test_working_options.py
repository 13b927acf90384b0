"""The command line that `tune check` prints for models with dynamic or deciding inputs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Tune
from tests.frontend.onnx_import.test_given_constants import sampled

info = helper.make_tensor_value_info


def test_the_line_that_is_printed_works(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(sampled(), path)
    outcome = tune("check", path)
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[:2] == [f"{path} has inputs of dynamic size:", "  x: float32 (N, 24)"]
    words = shlex.split(lines[-1])
    assert words == ["tune", "run", str(path), "--shape", "x=1,24", "--constant", "sr=16000"]
    assert tune("check", *words[2:]).code == 0
    assert tune("build", *words[2:], "-o", tmp_path / "m.so").code == 0
    assert json.loads(tune("check", path, "--json").out)["command"] == lines[-1].strip()


@pytest.mark.parametrize("verb", ["check", "show", "build", "run", "bench", "profile"])
def test_each_verb_takes_constants(tune: Tune, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "m.onnx"
    onnx.save_model(sampled(), path)
    options = {
        "build": ["-o", tmp_path / "m.so"],
        "run": ["--trials", 1, "--log", tmp_path / "t.db", "-o", tmp_path / "m.so"],
        "bench": ["--against", "onnxruntime", "--repeat", 1],
    }
    given = ["--shape", "x=2,24", "--constant", "sr=8000", *options.get(verb, [])]
    outcome = tune(verb, path, *given)
    assert outcome.code == 0, outcome.err
    wrong = tune(verb, path, "--constant", "rate=8000", *options.get(verb, []))
    assert "The inputs are x, sr" in wrong.err + wrong.out
    assert wrong.code == 1


def test_a_supported_model_with_dynamic_inputs_gets_a_line_for_tuning(
    tune: Tune, tmp_path: Path
) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph(
        [relu], "g", [info("x", TensorProto.FLOAT, ["b", 3])], [info("y", TensorProto.FLOAT, None)]
    )
    path = tmp_path / "a model.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    outcome = tune("check", path)
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].strip() == f"tune run '{path}' --shape x=1,3"


def test_no_line_is_printed_where_none_works(tune: Tune, tmp_path: Path) -> None:
    node = helper.make_node("Strange", ["x"], ["y"], domain="example")
    inputs = [info("x", TensorProto.FLOAT, [-1, 3, "height", "width"])]
    graph = helper.make_graph([node], "g", inputs, [info("y", TensorProto.FLOAT, None)])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    path = tmp_path / "m.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=imports), path)
    outcome = tune("check", path)
    assert outcome.code == 1
    assert outcome.out.startswith(f"{path} has inputs of dynamic size:")
    assert "tune run" not in outcome.out


@pytest.mark.parametrize("text", ["sr", "=3", "sr=", "sr=high", "sr=1,,2"])
def test_constants_that_cannot_be_read(tune: Tune, model: Path, text: str) -> None:
    outcome = tune("check", model, "--constant", text)
    assert outcome.code == 2
    assert "NAME=16000" in outcome.err


def test_only_onnx_models_take_constants(tune: Tune, model: Path) -> None:
    outcome = tune("build", model, "--constant", "x=1", "-o", model.with_suffix(".so"))
    assert "--constant is for ONNX models" in outcome.err
