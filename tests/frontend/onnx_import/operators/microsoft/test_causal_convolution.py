"""CausalConvWithState: windows of single channels that look back, and what they keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from relay_tune.building.build import build
from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]
CHANNELS, TAPS = 6, 3


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


WEIGHTS, BIAS = floats(CHANNELS, 1, TAPS), floats(CHANNELS)


@pytest.mark.parametrize(
    ("data", "past", "options"),
    [
        (floats(2, CHANNELS, 5), floats(2, CHANNELS, 2), {}),
        (floats(2, CHANNELS, 1), floats(2, CHANNELS, 2), {"activation": "silu"}),
        (floats(2, CHANNELS, 5), None, {"dilation": 2}),
        (floats(2, 5, 2, 3), floats(2, 2, 2, 3), {"channels_last": 1, "activation": "swish"}),
    ],
)
def test_of_com_microsoft(
    check_node: Check, data: np.ndarray, past: np.ndarray | None, options: dict[str, Any]
) -> None:
    check_node(
        "CausalConvWithState",
        *(data, WEIGHTS, BIAS, past),
        domain="com.microsoft",
        against="onnxruntime",
        native=True,
        outputs=2,
        **options,
    )


def test_of_the_standard(check_node: Check) -> None:
    inputs = (floats(1, CHANNELS, 4), WEIGHTS, None, floats(1, CHANNELS, 2))
    check_node("CausalConvWithState", *inputs, opset=27, against="onnxruntime", outputs=2)


def test_one_program_serves_streams_in_parts_of_any_length(node_model: NodeModel) -> None:
    inputs = (floats(2, CHANNELS, 7), WEIGHTS, BIAS, floats(2, CHANNELS, 2))
    model = node_model("CausalConvWithState", inputs, domain="com.microsoft", outputs=2)
    for value, names in zip(model.graph.input[::3], ({0: "n", 2: "t"}, {0: "m"}), strict=True):
        for axis, name in names.items():
            value.type.tensor_type.shape.dim[axis].dim_param = name
    program = build(from_onnx(model), threads=1)
    whole = onnxruntime.InferenceSession(model.SerializeToString()).run(
        None, {f"x{n}": each for n, each in enumerate(inputs)}
    )
    state, parts = inputs[3], []
    for begin, end in ((0, 1), (1, 5), (5, 7)):
        feeds = {"x0": inputs[0][:, :, begin:end], "x1": WEIGHTS, "x2": BIAS, "x3": state}
        part, state = program.run(feeds)
        parts.append(part)
    np.testing.assert_allclose(np.concatenate(parts, 2), whole[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(state, whole[1])


def test_a_window_of_states_is_refused(node_model: NodeModel) -> None:
    inputs = (floats(2, CHANNELS, 5), WEIGHTS)
    options: dict[str, Any] = {"domain": "com.microsoft", "outputs": 2, "state_window": 2}
    with pytest.raises(UnsupportedOperatorError, match="state_window"):
        from_onnx(node_model("CausalConvWithState", inputs, **options))
