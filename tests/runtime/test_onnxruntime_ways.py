"""What people write who come from ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
import pytest

import relay_tune as rt
from relay_tune.ir.parser.parse import parse
from relay_tune.std import prelude

PROGRAM = """
def @main(%n: int32, %x: Tensor[(4), float32]) {
  if (greater(%n, 0)) { (%x, %n) } else { (negative(%x), %n) }
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    helper, float_ = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Relu", ["image"], ["y"]), helper.make_node("Neg", ["image"], ["z"])]
    image = helper.make_tensor_value_info("image", float_, ["batch", 3])
    outputs = [helper.make_tensor_value_info(name, float_, ["batch", 3]) for name in "yz"]
    graph = helper.make_graph(nodes, "g", [image], outputs)
    path = tmp_path / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return path


def test_inputs_and_outputs_are_described_and_run_alike(file: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    model = rt.build(rt.from_onnx(file))
    for mine, theirs in (
        (model.get_inputs(), session.get_inputs()),
        (model.get_outputs(), session.get_outputs()),
    ):
        assert [(a.name, a.shape, a.type) for a in mine] == [
            (a.name, a.shape, a.type) for a in theirs
        ]
    feeds = {model.get_inputs()[0].name: np.array([[1, -2, 3]], np.float32)}
    for names in (None, ["z"], ["z", "y"]):
        mine, theirs = model.run(names, feeds), session.run(names, feeds)
        assert isinstance(mine, list)
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "dtype, named",
    [("float16", "float16"), ("float64", "double"), ("int64", "int64"), ("bool", "bool"),
     ("bfloat16", "bfloat16"), ("uint8", "uint8")],
)  # fmt: skip
def test_types_have_their_names_of_onnx(dtype: str, named: str) -> None:
    model = rt.build(rt.parse(f"def @main(%x: Tensor[(2, ?), {dtype}]) {{ copy(%x) }}"))
    (x,) = model.get_inputs()
    assert (x.name, x.shape, x.type) == ("x", [2, None], f"tensor({named})")


def test_unknown_outputs_are_refused(file: Path) -> None:
    model = rt.build(rt.from_onnx(file))
    feeds = {"image": np.zeros((1, 3), np.float32)}
    with pytest.raises(rt.InputError, match="no output 'yy'"):
        model.run(["yy"], feeds)
    with pytest.raises(rt.InputError, match="must be a list"):
        model.run("y", feeds)


def test_programs_with_control_flow_have_the_same_ways() -> None:
    model = rt.build(rt.parse(PROGRAM))
    x = np.ones(4, np.float32)
    first, second = model.run(None, {"n": -1, "x": x})
    np.testing.assert_array_equal(first, -x)
    assert int(second) == -1
    assert [each.name for each in model.get_inputs()] == ["n", "x"]
    (only,) = model.run([model.get_outputs()[1].name], {"n": 3, "x": x})
    assert int(only) == 3
    named = {"n": -1, "x": x}
    for one, other in zip(model.run(named), model.run(None, named), strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_are_those_of_the_call() -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(64, 64), float32]) { exp(%x) }"), threads=2)
    x = np.zeros((64, 64), np.float32)
    np.testing.assert_array_equal(model(x, threads=1), model(x))
    assert model.threads == 2
    with pytest.raises(rt.InputError, match="threads is 0"):
        model(x, threads=0)


def test_an_input_called_threads_takes_the_keyword() -> None:
    text = "def @main(%threads: Tensor[(2), float32], %out: Tensor[(2), float32]) "
    model = rt.build(rt.parse(text + "{ subtract(%threads, %out) }"))
    one, two = np.array([5, 6], np.float32), np.array([1, 1], np.float32)
    np.testing.assert_array_equal(model(threads=one, out=two), one - two)
    np.testing.assert_array_equal(model(one, out=two), one - two)


def test_models_say_what_they_are() -> None:
    model = rt.build(rt.parse("def @main(%x: Tensor[(n, 3), float32]) { nn.relu(%x) }"), threads=2)
    text = "Model(x: Tensor[(n, 3), float32]) -> output: Tensor[(n, 3), float32], 2 threads"
    assert repr(model) == f"<{text}>"
    assert "<td>Tensor[(n, 3), float32]</td>" in model._repr_html_()
    program = rt.build(rt.parse(PROGRAM))
    assert repr(program).startswith("<Model(n: int32, x: Tensor[(4,), float32])")
    assert repr(program).endswith(" threads>") or repr(program).endswith(" thread>")


def test_later_calls_by_name_answer_and_refuse_as_the_first(file: Path) -> None:
    """After the first call, dicts that fit go the short way; others take the long way."""
    model = rt.build(rt.from_onnx(file))
    image = np.array([[1, -2, 3]], np.float32)
    for _ in range(3):
        for outputs in (model.run({"image": image}), model.run(None, {"image": image})):
            np.testing.assert_array_equal(outputs[0], np.maximum(image, 0))
            np.testing.assert_array_equal(outputs[1], -image)
        (negative,) = model.run(["z"], MappingProxyType({"image": image}))
        np.testing.assert_array_equal(negative, -image)
        with pytest.raises(rt.RelayError, match="image"):
            model.run({"picture": image})
        with pytest.raises(rt.RelayError, match="no output 'w'"):
            model.run(["w"], {"image": image})


def test_an_optional_input_by_a_wrong_name_is_refused_in_later_calls_too() -> None:
    text = "def @main(%x: Option[float32]) { match (%x) { Some(%value) => %value, None => -1f } }"
    model = rt.build(parse(text, base=prelude("Option")))
    for _ in range(3):
        assert model.run({"x": None}) == [-1]
        with pytest.raises(rt.RelayError, match="'y'"):
            model.run({"y": None})
