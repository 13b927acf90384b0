"""The comparison of gradients finds what is right and wrong; torch runs files as others do."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

torch = pytest.importorskip("torch")
network_gradients = pytest.importorskip("benchmarks.network_gradients")
torch_nodes = pytest.importorskip("benchmarks.torch_nodes")

W = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def _model(
    nodes: list[onnx.NodeProto], shape: tuple[int, ...], weights: dict[str, np.ndarray]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_network_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
    assert network_gradients._report("tanh", _model(nodes, (2, 3), {"w": W}))
    assert "2 gradients" in capsys.readouterr().out


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_torch_has_windows_that_end_behind_the_image(operator: str) -> None:
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}
    model = _model([helper.make_node(operator, ["x"], ["y"], **window)], (1, 2, 8, 8), {})
    x = np.random.default_rng(0).standard_normal((1, 2, 8, 8)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (found,) = torch_nodes.run(model, {"x": torch.from_numpy(x)}, {})
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_wrong_gradients_are_found() -> None:
    right = {"w": np.array([1.0, 2.0]), "zero": np.array([1e-17])}
    found = {"w": np.array([1.0, 2.2]), "zero": np.array([1e-7])}
    errors = network_gradients._errors(found, right)
    assert errors == {"w": pytest.approx(0.1), "zero": pytest.approx(5e-8)}


@pytest.mark.parametrize(
    ("ours", "theirs", "right", "verdict"),
    [
        (1e-6, 1e-2, True, "ok"),
        (1e-2, 1e-2, True, "as torch"),
        (1e-2, 1e-6, True, "FLIPS"),
        (1e-6, 1e-6, False, "WRONG"),
    ],
)
def test_the_verdict_tells_flips_from_errors(
    ours: float, theirs: float, right: bool, verdict: str
) -> None:
    assert network_gradients._verdict(ours, theirs, right=right) == verdict


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_torch_runs_a_recurrent_layer_as_onnxruntime_does(direction: str) -> None:
    generator, sides = np.random.default_rng(1), 2 if direction == "bidirectional" else 1
    weights = {
        name: generator.standard_normal((sides, *shape)).astype(np.float32)
        for name, shape in (("w", (8, 3)), ("r", (8, 2)), ("b", (16,)))
    }
    node = helper.make_node("LSTM", ["x", *weights], ["y"], hidden_size=2, direction=direction)
    model = _model([node], (5, 2, 3), weights)
    x = generator.standard_normal((5, 2, 3)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (found,) = torch_nodes.run(model, {"x": torch.from_numpy(x)}, torch_nodes.weights_of(model))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
