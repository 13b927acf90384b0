from __future__ import annotations

import numpy as np
import onnx

from benchmarks.quantized_agreement import layers

NETWORK = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[2, 5] x) => (float[2, 3] y)
<float s = {0.05}, uint8 z = {120},
 int8[5, 3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, 1, 2, 3, 4, 5, 6},
 float t = {0.01}, int8 n = {0}, float r = {0.002}, uint8 o = {90}>
{
    stored = QuantizeLinear(x, s, z)
    left = DequantizeLinear(stored, s, z)
    right = DequantizeLinear(w, t, n)
    product = MatMul(left, right)
    result = QuantizeLinear(product, r, o)
    y = DequantizeLinear(result, r, o)
}
"""


def test_each_quantization_is_a_layer_that_agrees() -> None:
    model = onnx.parser.parse_model(NETWORK)
    x = np.random.default_rng(0).standard_normal((2, 5), np.float32)
    found = list(layers(model, {"x": x}, "always"))
    assert [each.name for each in found] == ["input stored", "MatMul result"]
    for each, elements in zip(found, (10, 6), strict=True):
        assert (each.end_to_end, each.alone, each.most, each.elements) == (1.0, 1.0, 0, elements)
