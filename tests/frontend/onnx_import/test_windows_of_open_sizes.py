"""Convolutions and pools whose window may be larger than an axis that only a run knows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.building.build import build
from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.onnx_import.conftest import onnxruntime_outputs


def data(size: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((1, 2, size)).astype(np.float32)


def model_of(operator: str, window: int, opset: int = 17, **attributes: Any) -> onnx.ModelProto:
    """Relu and then one operator, over an open axis."""
    weights = []
    if operator == "Conv":
        kernel = np.random.default_rng(4).standard_normal((3, 2, window)).astype(np.float32)
        weights = [numpy_helper.from_array(kernel, "kernel")]
    else:
        attributes["kernel_shape"] = [window]
    inputs = ["r", *(weight.name for weight in weights)]
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node(operator, inputs, ["y"], name="slides", **attributes),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "w"])],
        [onnx.ValueInfoProto(name="y")],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


@pytest.mark.parametrize(
    ("operator", "window", "least", "attributes"),
    [
        ("Conv", 3, 3, {}),
        ("Conv", 5, 3, {"strides": [2], "pads": [1, 1]}),
        ("Conv", 3, 3, {"dilations": [2], "pads": [1, 1]}),
        ("MaxPool", 4, 3, {"strides": [2]}),
        ("MaxPool", 5, 3, {"strides": [3], "ceil_mode": 1}),
        ("AveragePool", 7, 3, {"strides": [2], "pads": [2, 1]}),
        ("AveragePool", 5, 3, {"strides": [3], "count_include_pad": 1}),
        ("AveragePool", 5, 2, {"strides": [3], "pads": [1, 0], "count_include_pad": 1}),
        ("LpPool", 4, 3, {"strides": [2]}),
    ],
)
def test_an_axis_that_is_smaller_than_a_window_is_refused(
    operator: str, window: int, least: int, attributes: dict[str, Any]
) -> None:
    model = model_of(operator, window, **attributes)
    module = from_onnx(model)
    program = build(module, threads=1)
    said = f"node 'slides' ({operator}) is smaller than the window of {window}; it needs a size of"
    for size in (*range(least), least, least + 1, least + 4):
        if size < least:
            with pytest.raises(InputError, match=re.escape(f"{said} at least {least}.")):
                program(data(size))
            with pytest.raises(RelayError, match="smaller than the window"):
                interpret(module, data(size))
            continue
        (wanted,) = onnxruntime_outputs(model, {"x": data(size)})
        np.testing.assert_allclose(program(data(size)), wanted, rtol=1e-4, atol=1e-5)


def test_a_pool_that_moves_by_one_has_no_window_on_an_axis_one_smaller() -> None:
    model = model_of("MaxPool", 3)
    module = from_onnx(model)
    program = build(module, threads=1)
    for size in (2, 3, 6):
        (wanted,) = onnxruntime_outputs(model, {"x": data(size)})
        np.testing.assert_array_equal(program(data(size)), wanted)
        np.testing.assert_array_equal(interpret(module, data(size)), wanted)
    with pytest.raises(InputError, match="at least 2"):
        program(data(1))


POOLS = [
    ("MaxPool", 2, {"strides": [2]}, 17),
    ("MaxPool", 3, {"strides": [3], "pads": [1, 0]}, 17),
    ("MaxPool", 2, {"strides": [2], "pads": [1, 1], "ceil_mode": 1}, 17),
    ("AveragePool", 2, {"strides": [2]}, 17),
    ("AveragePool", 4, {"strides": [3], "pads": [1, 1], "count_include_pad": 1}, 17),
    ("AveragePool", 4, {"strides": [3], "pads": [1, 1], "count_include_pad": 1}, 19),
    ("AveragePool", 3, {"strides": [2], "dilations": [2], "count_include_pad": 1}, 19),
    (
        "AveragePool",
        3,
        {"strides": [2], "pads": [1, 1], "count_include_pad": 1, "ceil_mode": 1},
        17,
    ),
    ("AveragePool", 2, {"strides": [2], "pads": [1, 1], "ceil_mode": 1}, 19),
    ("LpPool", 3, {"strides": [3], "pads": [1, 0]}, 17),
]


@pytest.mark.parametrize(("operator", "window", "attributes", "opset"), POOLS)
def test_one_partial_window_is_taken_of_a_short_axis(
    operator: str, window: int, attributes: dict[str, Any], opset: int
) -> None:
    model = model_of(operator, window, opset, **attributes)
    module = from_onnx(model)
    program = build(module, threads=1)
    for size in (1, 2, 3, 4, 5, 8, 17):
        try:
            (wanted,) = onnxruntime_outputs(model, {"x": data(size)})
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            continue
        if not wanted.size:  # no window where a step and more is missing; that is refused
            continue
        np.testing.assert_allclose(program(data(size)), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(interpret(module, data(size)), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(
    ("operator", "window", "attributes"),
    [
        ("Conv", 3, {"strides": [2]}),
        ("Conv", 4, {}),
        ("MaxPool", 3, {"strides": [2]}),
        ("AveragePool", 3, {"strides": [2]}),
        ("AveragePool", 3, {"strides": [2], "count_include_pad": 1}),
        ("AveragePool", 2, {}),
    ],
)
def test_padding_of_same_follows_the_size(
    mode: str, operator: str, window: int, attributes: dict[str, Any]
) -> None:
    model = model_of(operator, window, 17, auto_pad=mode, **attributes)
    program = build(from_onnx(model), threads=1)
    for size in (1, 2, 3, 4, 5, 6, 9):
        (wanted,) = onnxruntime_outputs(model, {"x": data(size)})
        np.testing.assert_allclose(program(data(size)), wanted, rtol=1e-5, atol=1e-6)
