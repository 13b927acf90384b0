from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay_tune import structural_equal, zoo
from relay_tune.cli.model_file import load_model, stem
from relay_tune.errors import InputError, ModelError, ParseError
from relay_tune.ir.json_form import to_json
from relay_tune.ir.structural import first_difference
from relay_tune.runtime.interpreter.interpret import interpret
from tests.cli.conftest import Tune


def relu_model() -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_relay_text(model: Path) -> None:
    assert list(load_model(str(model)).functions) == ["main"]


def test_json_and_binary_onnx_are_the_same_model(tmp_path: Path) -> None:
    binary, text = tmp_path / "m.onnx", tmp_path / "m.json"
    onnx.save_model(relu_model(), binary)
    onnx.save_model(relu_model(), text, format="json")
    left = load_model(str(binary), {"x": (3, 2)})
    right = load_model(str(text), {"x": (3, 2)})
    assert structural_equal(left, right)
    assert interpret(left, np.full((3, 2), -1, np.float32)).sum() == 0


def test_a_built_in_network() -> None:
    assert [var.name for var in load_model("zoo:mlp").main.params] == ["data"]


def test_broken_text_says_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.relay"
    path.write_text("def @main() {\n  (1, \n}")
    with pytest.raises(ParseError) as caught:
        load_model(str(path))
    assert f"{path}:3:1" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"graph": 3}'])
def test_json_that_is_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises((ModelError, InputError)) as caught:
        load_model(str(path))
    assert str(path) in str(caught.value)


def test_deep_json_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"graph": ' * 100_000)
    with pytest.raises(ModelError, match="neither an ONNX model in JSON nor a module of ours"):
        load_model(str(path))


@pytest.mark.parametrize("name", ["missing.onnx", "missing.relay", "missing.json", "model.txt", ""])
def test_no_such_model_is_one_clear_error(tune: Tune, name: str) -> None:
    outcome = tune("show", name)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("tune: error: ")
    assert "Traceback" not in outcome.err


def test_an_empty_name_is_no_folder(tune: Tune) -> None:
    assert "'' is no model that can be read" in tune("show", "").err


@pytest.mark.parametrize("ending", ["onnx", "relay", "json"])
def test_a_folder_is_no_model(tune: Tune, tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()
    outcome = tune("show", folder)
    assert outcome.code == 1
    assert "is a folder, not a model" in outcome.err


def test_a_null_character_in_a_name(tune: Tune) -> None:
    for ending in ("onnx", "relay", "json"):
        assert tune("show", f"a\0b.{ending}").code == 1


def test_text_that_is_not_utf8(tune: Tune, tmp_path: Path) -> None:
    path = tmp_path / "m.relay"
    path.write_bytes(b"\xff\xfe")
    assert "is no text" in tune("show", path).err


def test_shapes_belong_to_onnx_models(model: Path) -> None:
    with pytest.raises(InputError, match="--shape fixes sizes of ONNX models"):
        load_model(str(model), {"x": (1,)})


def test_stem() -> None:
    assert stem("zoo:resnet18") == "resnet18"
    assert stem("models/a.b.onnx") == "a.b"


def test_modules_in_json(tmp_path: Path) -> None:
    path = tmp_path / "module.json"
    module = zoo.build("char_rnn", small=True)
    path.write_text(to_json(module))
    assert first_difference(load_model(str(path)), module) is None
    with pytest.raises(InputError, match="states its shapes itself"):
        load_model(str(path), {"first": ()})
