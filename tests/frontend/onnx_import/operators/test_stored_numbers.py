"""Scales and zero points of files that cannot be are refused before anything is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.building.build import build
from relay_tune.errors import QUANTIZE_AGAIN, ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.frontend.onnx_import.operators.stored_numbers import QUANTIZE_FINITE


def product(**changed: Any) -> onnx.ModelProto:
    """A product of quantized rows, any number of them, and quantized weights."""
    values: dict[str, Any] = {
        "s": np.float32(0.1),
        "z": np.uint8(3),
        "t": np.full(4, 0.1, np.float32),
        "o": np.zeros(4, np.int8),
        "w": np.arange(32, dtype=np.int8).reshape(8, 4),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "t", "o"], ["v"], axis=1),
        helper.make_node("MatMul", ["d", "v"], ["y"]),
    ]
    known = [numpy_helper.from_array(np.asarray(v), n) for n, v in (values | changed).items()]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in (("x", 8), ("y", 4))
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"s": np.float32(0)}, "'q' .QuantizeLinear.: the scale that data are divided by is 0"),
        ({"s": np.float32(np.inf)}, "'q' .QuantizeLinear.: a scale is infinite or no number"),
        ({"s": np.float32(np.nan)}, "'q' .QuantizeLinear.: a scale is infinite or no number"),
        ({"t": np.array([1, 1, np.inf, 1], "float32")}, "'v' .DequantizeLinear.: a scale is inf"),
        ({"o": np.zeros(4, np.int32)}, "the zero point is int32, but the data are int8"),
        ({"o": np.full(4, 200, np.uint8)}, "the zero point is uint8, but the data are int8"),
    ],
)
def test_what_cannot_be_read_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as raised:
        from_onnx(product(**changed))
    is_infinite = "infinite" in str(raised.value)
    assert raised.value.remedy == (QUANTIZE_FINITE if is_infinite else QUANTIZE_AGAIN)


def test_channels_of_zeros_may_have_no_scale() -> None:
    model = build(from_onnx(product(t=np.array([0.1, 0, 0.1, 0.1], "float32"))))
    found = model(np.ones((2, 8), np.float32))
    assert (found[:, 1] == 0).all() and (found[:, 0] > 0).all()


def dynamic_quantization() -> onnx.ModelProto:
    """Bytes, scale and zero point of rows, any number of them."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    ends = [onnx.ValueInfoProto(name=name) for name in ("q", "s", "z")]
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])
    graph = helper.make_graph([node], "g", [rows], ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_a_scale_that_a_run_computes_is_rounded_once() -> None:
    model, random = build(from_onnx(dynamic_quantization())), np.random.default_rng(0)
    for _ in range(20):
        x = random.standard_normal((3, 5), np.float32)
        assert model(x)[1] == (max(x.max(), 0) - min(x.min(), 0)) / np.float32(255)


def test_an_infinity_below_zero_has_the_highest_zero_point() -> None:
    model = build(from_onnx(dynamic_quantization()))
    x = np.array([[1, -np.inf, -3, 0, 2]], np.float32)
    found, scale, zero_point = model(x)
    assert (scale, zero_point) == (np.inf, 255)
    assert np.array_equal(found, [[255, 0, 255, 255, 255]])
    assert model(-x)[2] == 0
