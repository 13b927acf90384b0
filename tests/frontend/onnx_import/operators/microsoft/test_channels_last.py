from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from relay_tune.building.interpret import interpret
from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


FUSED = """
<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
diffusion (float[n,4,h,w] x, float[4,3,3,4] f, float[4,4,3,3] g, float[4] c, float[n,4] t)
=> (y, s) {
  last = Transpose<perm = [0,2,3,1]>(x)
  a = com.microsoft.NhwcConv<pads = [1,1,1,1]>(last, f, c)
  b = com.microsoft.GroupNorm<groups = 2, epsilon = 0.001, activation = 1>(a, c, c)
  s, d = com.microsoft.SkipGroupNorm<groups = 2, activation = 0>(b, c, c, t, c)
  e = com.microsoft.NhwcFusedConv<pads = [1,1,1,1], activation = "Relu">(s, g, c, d)
  y = com.microsoft.BiasSplitGelu(e, c)
}
"""
PLAIN = """
<ir_version: 10, opset_import: ["" : 21]>
diffusion (float[n,4,h,w] x, float[4,3,3,4] f, float[4,4,3,3] g, float[4] c, float[n,4] t)
=> (y, s) {
  first = Transpose<perm = [0,3,1,2]>(f)
  a = Conv<pads = [1,1,1,1]>(x, first, c)
  m = GroupNormalization<num_groups = 2, epsilon = 0.001>(a, c, c)
  r = Sigmoid(m)
  b = Mul(m, r)
  axes = Constant<value_ints = [2,3]>()
  column = Constant<value_ints = [1,2]>()
  t2 = Unsqueeze(t, axes)
  c2 = Unsqueeze(c, column)
  k = Add(b, t2)
  d = Add(k, c2)
  n2 = GroupNormalization<num_groups = 2>(d, c, c)
  e = Conv<pads = [1,1,1,1]>(n2, g, c)
  z = Add(e, d)
  p = Relu(z)
  q = Add(p, c2)
  left, right = Split<axis = 1, num_outputs = 2>(q)
  gate = Gelu(right)
  out = Mul(left, gate)
  y = Transpose<perm = [0,2,3,1]>(out)
  s = Transpose<perm = [0,2,3,1]>(n2)
}
"""


def test_operators_of_diffusion_models_are_those_of_images_with_channels_first() -> None:
    feeds: dict[str, Any] = {
        "x": floats(2, 4, 5, 6),
        "f": floats(4, 3, 3, 4),
        "g": floats(4, 4, 3, 3),
        "c": floats(4),
        "t": floats(2, 4),
    }
    plain = parser.parse_model(PLAIN).SerializeToString()
    wanted = onnxruntime.InferenceSession(plain).run(None, feeds)
    actual: Any = interpret(from_onnx(parser.parse_model(FUSED)), **feeds)
    for found, each in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-5)


def test_rows_of_channels_broadcast_to_images_with_channels_first(node_model: NodeModel) -> None:
    data, skip, ones = floats(2, 4, 3, 5), floats(2, 4), np.ones(4, np.float32)
    zeros, bias = np.zeros(4, np.float32), floats(4)
    inputs = (data, ones, zeros, skip, bias)
    options = {"groups": 4, "activation": 0, "channels_last": 0, "outputs": 2}
    model = node_model("SkipGroupNorm", inputs, domain="com.microsoft", **options)
    results: Any = interpret(from_onnx(model), *inputs)
    normal, total = results
    wanted = data + skip[:, :, None, None] + bias[:, None, None]
    np.testing.assert_allclose(total, wanted, rtol=1e-6, atol=1e-6)
    spread = wanted - wanted.mean((2, 3), keepdims=True)
    spread /= np.sqrt((spread**2).mean((2, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(normal, spread, rtol=1e-4, atol=1e-5)


def test_maxima_of_images_with_channels_last(check_node: Check) -> None:
    data = np.random.default_rng(0).integers(-128, 128, (1, 6, 7, 3), np.int8)
    options = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1]}
    check_node("NhwcMaxPool", data, domain="com.microsoft", against="onnxruntime", **options)


def test_other_activations_are_refused(node_model: NodeModel) -> None:
    inputs = (floats(1, 2, 2, 4), floats(4), floats(4))
    model = node_model("GroupNorm", inputs, domain="com.microsoft", groups=2, activation=2)
    with pytest.raises(UnsupportedOperatorError, match="activation 2"):
        from_onnx(model)
