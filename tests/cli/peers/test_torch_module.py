"""ONNX files as modules of torch: the outputs are those of onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks.models import network
from benchmarks.networks.layers import Layers
from relay_tune.cli.peers.onnx_runtime import prepare_onnxruntime

torch = pytest.importorskip("torch")

from relay_tune.cli.peers.torch_module.call import NotInTorch  # noqa: E402
from relay_tune.cli.peers.torch_module.module import OnnxModule, constants_folded  # noqa: E402


def convolutional() -> onnx.ModelProto:
    """Pads that differ, groups, pools, upsampling, a shape that is computed."""
    g = Layers()
    x = g.relu(g.norm(g.conv("image", (3, 8), 3, 2), 8))
    y = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    y = g.swish(g.conv(y, (8, 8), 3, group=4))
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    up = g.op("Resize", y, "", scales, mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    smooth = g.op(
        "Resize", y, "", scales, mode="linear", coordinate_transformation_mode="half_pixel"
    )
    x = g.op("Concat", x, up, smooth, axis=1)
    x = g.op("ConvTranspose", x, g.weight(24, 6, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("DepthToSpace", g.conv(x, (6, 8)), blocksize=2)
    flat = g.op("Reshape", x, g.op("Concat", g.constant(np.array([1], np.int64)),
                                   g.constant(np.array([-1], np.int64)), axis=0))  # fmt: skip
    return g.model("convolutional", {"image": (1, 3, 16, 16)}, flat)


def attention() -> onnx.ModelProto:
    g = Layers()
    x = g.op("Gather", g.weight(50, 16, fan_in=2), "ids", axis=0)
    mask = g.constant(np.triu(np.full((8, 8), -1e9, np.float32), 1))
    return g.model("attention", {"ids": (1, 8)}, g.transformer(x, 8, 16, heads=2, mask=mask))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers(kind: str, tmp_path: Path) -> None:
    g = Layers()
    gates = {"LSTM": 4, "GRU": 3}[kind]
    options = {"linear_before_reset": 1} if kind == "GRU" else {}
    weights = [g.weight(2, gates * 6, n, fan_in=2 * n) for n in (5, 6)]
    bias = g.weight(2, 2 * gates * 6)
    y = g.op(kind, "words", *weights, bias, direction="bidirectional", hidden_size=6, **options)
    assert_same(g.model(kind, {"words": (7, 2, 5)}, y), tmp_path)


@pytest.mark.parametrize("build", [convolutional, attention])
def test_networks(build: object, tmp_path: Path) -> None:
    assert callable(build)
    assert_same(build(), tmp_path)


def assert_same(model: onnx.ModelProto, folder: Path) -> None:
    path = folder / "network.onnx"
    onnx.save(model, path)
    given = network(str(path), folder).inputs
    module = OnnxModule(constants_folded(path)).eval()
    with torch.no_grad():
        actual = module(*(torch.from_numpy(np.array(given[n])) for n in module.input_names))
    for value, expected in zip(actual, prepare_onnxruntime(path, given, 1)(), strict=True):
        np.testing.assert_allclose(value.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_an_operator_without_translation_is_named(tmp_path: Path) -> None:
    g = Layers()
    path = tmp_path / "network.onnx"
    onnx.save(
        g.model("network", {"x": (2, 3)}, g.op("Det", g.op("MatMul", "x", g.weight(3, 2)))), path
    )
    with pytest.raises(NotInTorch, match="no translation of Det to torch"):
        OnnxModule(constants_folded(path))
