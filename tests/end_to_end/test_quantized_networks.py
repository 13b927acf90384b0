"""Networks that onnxruntime's quantizer made, in integers, against onnxruntime step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

import relay_tune as rt
from relay_tune.transform.compute_in_integers import ComputeInIntegers

pytestmark = pytest.mark.builds_apart

SHAPE = (2, 4, 12, 10)

NETWORK = """
<ir_version: 9, opset_import: ["" : 17]>
g (float[2, 4, 12, 10] x) => (float[2, 7] y)
<float[8, 4, 3, 3] a, float[8] a_bias, float[8, 1, 3, 3] b, float[6, 8, 1, 1] c, float[6] c_bias,
 float[6, 8, 1, 1] d, float[12, 7] e, float[7] e_bias>
{
    first = Conv<pads = [1, 1, 1, 1], strides = [2, 1]>(x, a, a_bias)
    active = Relu(first)
    depthwise = Conv<pads = [1, 1, 1, 1], group = 8>(active, b)
    sum = Add(active, depthwise)
    left = Conv(sum, c, c_bias)
    right = Conv(depthwise, d)
    both = Concat<axis = 1>(left, right)
    pooled = MaxPool<kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0]>(both)
    average = GlobalAveragePool(pooled)
    flat = Flatten(average)
    product = MatMul(flat, e)
    y = Add(product, e_bias)
}
"""


class _Samples(CalibrationDataReader):
    """What the quantizer finds ranges with."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        self.samples: Iterator[dict[str, np.ndarray]] = iter(
            [{"x": random.standard_normal(SHAPE, np.float32)} for _ in range(2)]
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.samples, None)


def _float_network() -> onnx.ModelProto:
    """The network with random weights."""
    model = onnx.parser.parse_model(NETWORK)
    random = np.random.default_rng(2)
    for weight in model.graph.value_info:
        shape = tuple(dim.dim_value for dim in weight.type.tensor_type.shape.dim)
        values = random.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[1:]))
        array = onnx.numpy_helper.from_array(np.float32(values), weight.name)
        model.graph.initializer.append(array)
    return model


@pytest.mark.parametrize(
    "form, activations, per_channel, is_built",
    [
        (QuantFormat.QDQ, QuantType.QUInt8, True, True),
        (QuantFormat.QDQ, QuantType.QInt8, False, False),
        (QuantFormat.QOperator, QuantType.QInt8, True, False),
    ],
)
def test_a_network_is_computed_in_integers(
    tmp_path: Path, form: QuantFormat, activations: QuantType, per_channel: bool, is_built: bool
) -> None:
    path = tmp_path / "network.onnx"
    quantize_static(
        _float_network(),
        path,
        _Samples(),
        quant_format=form,
        per_channel=per_channel,
        activation_type=activations,
        weight_type=QuantType.QInt8,
    )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    module = rt.from_onnx(path)
    in_integers = ComputeInIntegers("always")(rt.infer_types(module))
    text = in_integers.astext()
    assert text.count('out_dtype="int32"') == 5
    run: Callable[[np.ndarray], np.ndarray] = partial(rt.interpret, in_integers)
    if is_built:
        run = rt.build(module, pipeline="default{integers=always}", threads=1)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(SHAPE, np.float32) * 1.5
        (expected,) = session.run(None, {"x": x})
        quantum = np.diff(np.unique(expected)).min()
        difference = np.abs(run(x) - expected)
        assert difference.max() < 1.5 * quantum
        assert (difference < 0.5 * quantum).mean() > 0.9
