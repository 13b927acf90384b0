from __future__ import annotations

import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from tests.cli.conftest import Tune


def test_a_supported_model(tune: Tune, model: Path) -> None:
    outcome = tune("check", model)
    assert outcome.code == 0
    assert "is supported: 1 kernel\n" in outcome.out
    assert "1 x nn.dense" in outcome.out
    assert "input w: Tensor[(16, 8), float32]" in outcome.out


def test_json(tune: Tune, model: Path) -> None:
    findings = json.loads(tune("check", model, "--json").out)
    assert findings["supported"] is True
    assert findings["operators"] == {"nn.dense": 1, "nn.relu": 1}
    assert findings["kernels"] == 1


def test_all_missing_operators_are_listed(tune: Tune, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    nodes = [
        helper.make_node("Strange", ["x"], ["a"], name="first", domain="example"),
        helper.make_node("Odd", ["a"], ["b"], name="second", domain="example"),
    ]
    output = helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])
    graph = helper.make_graph(nodes, "g", [value], [output])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("example", 1)]
    path = tmp_path / "m.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=imports), path)
    outcome = tune("check", path)
    assert outcome.code == 1
    assert "example::Odd" in outcome.out
    assert "'first'" in outcome.out
    found = json.loads(tune("check", path, "--json").out)
    assert found["supported"] is False
    assert [(each["name"], each["operator"]) for each in found["missing"]] == [
        ("second", "example::Odd"),
        ("first", "example::Strange"),
    ]


def test_what_cannot_be_compiled_is_said(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "m.relay"
    path.write_text("def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }")
    outcome = tune("check", path)
    assert outcome.code == 1
    assert "is not supported" in outcome.out


def test_open_shapes_are_supported(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "m.relay"
    path.write_text("def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }")
    outcome = tune("check", path)
    assert outcome.code == 0
    assert "is supported: for any size" in outcome.out


def test_what_has_no_code_for_all_sizes_is_said(tune: Tune, tmp_path: Path) -> None:
    """Whether n * h is the product of two other sizes has no equation for one of them."""
    path = tmp_path / "m.relay"
    flat = "nn.relu(reshape(nn.relu({}), newshape=[-1]))"
    params = "%a: Tensor[(n, h), float32], %b: Tensor[(?, ?), float32]"
    path.write_text(f"def @main({params}) {{ {flat.format('%a')} + {flat.format('%b')} }}")
    outcome = tune("check", path)
    assert outcome.code == 0
    assert "code that is made for each size" in outcome.out
    assert "m.relay:1:71: The sizes of nn.relu, reshape, add do not fit" in outcome.out
    assert "h * n would have to be equal to ?" in outcome.out
    found = json.loads(tune("check", path, "--json").out)
    assert found["supported"] is True
    assert len(found["each_size"]) == 2


def test_no_model_is_an_error_and_no_answer(tune: Tune) -> None:
    outcome = tune("check", "missing.onnx", "--json")
    assert (outcome.code, outcome.out) == (1, "")
