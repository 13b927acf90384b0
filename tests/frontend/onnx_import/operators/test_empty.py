"""Tensors without elements, and windows and cuts beyond the end, as onnxruntime has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from relay_tune.building.build import build
from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from tests.frontend.onnx_import.conftest import make_node_model, onnxruntime_outputs

Array = np.ndarray[Any, Any]


def floats(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def check_built(
    operator: str,
    inputs: list[Array],
    constants: tuple[int, ...] = (),
    answer: Callable[..., list[Any]] = onnxruntime_outputs,
    **options: Any,
) -> None:
    """The native code gives what onnxruntime gives."""
    known = {number: inputs[number] for number in constants}
    model = make_node_model(operator, inputs, constants=known, **options)
    feeds = {f"x{n}": value for n, value in enumerate(inputs) if n not in known}
    found = build(from_onnx(model), threads=1).run(feeds)
    for ours, theirs in zip(found, answer(model, feeds), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("operator", "inputs", "constants", "attributes"),
    [
        ("Unsqueeze", [floats(0, 3), ints(0, 3)], (1,), {}),
        ("Squeeze", [floats(1, 0, 1), ints(0)], (1,), {}),
        ("Reshape", [floats(2, 0, 3), ints(0, 0, 3)], (1,), {}),
        ("Reshape", [floats(0, 4), ints(2, 0)], (1,), {"allowzero": 1}),
        ("Flatten", [floats(2, 0, 2)], (), {"axis": 2}),
        ("Transpose", [floats(1, 0, 3)], (), {"perm": [1, 0, 2]}),
        ("GatherND", [floats(4, 3), np.zeros((0, 1), np.int64)], (), {}),
        ("ScatterND", [floats(4, 3), np.zeros((0, 1), np.int64), floats(0, 3)], (), {}),
        ("OneHot", [np.zeros((0, 2), np.int64), ints(3)[0], floats(2)], (1,), {"axis": 0}),
        ("MatMul", [floats(2, 0), floats(0, 3)], (), {}),
        ("Concat", [floats(2, 0), floats(2, 3)], (), {"axis": 1}),
        ("Softmax", [floats(3, 0)], (), {}),
        ("ReduceMax", [floats(2, 0, 3), ints(1)], (1,), {}),
        ("Slice", [floats(4, 3), ints(3), ints(-100), ints(0)], (1, 2, 3), {}),
        ("GlobalAveragePool", [floats(0, 3, 5, 5)], (), {}),
    ],
)
def test_empty_tensors(
    operator: str, inputs: list[Array], constants: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    check_built(operator, inputs, constants, **attributes)


@pytest.mark.parametrize("shape", [(1, 3, 1), (3,), (1, 1), (0, 1)])
@pytest.mark.parametrize("opset", [11, 13, 21])
def test_squeeze_of_an_empty_list_of_axes_squeezes_all(shape: tuple[int, ...], opset: int) -> None:
    data = floats(*shape)
    model = make_node_model(
        "Squeeze", [data], constants={} if opset == 11 else {1: ints()}, opset=opset
    )
    if opset == 11:
        axes = onnx.helper.make_attribute("axes", [], attr_type=onnx.AttributeProto.INTS)
        model.graph.node[0].attribute.append(axes)
    found = build(from_onnx(model), threads=1)(data)
    np.testing.assert_array_equal(found, np.squeeze(data))


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    ("size", "attributes"),
    [
        (4, {}),
        (4, {"strides": [2, 2]}),
        (5, {"strides": [2, 2]}),
        (5, {"strides": [5, 5], "ceil_mode": 1}),
        (6, {"pads": [1, 1, 1, 1]}),
        (4, {"pads": [0, 0, 1, 1], "strides": [2, 2], "ceil_mode": 1}),
    ],
)
def test_pool_windows_larger_than_the_padded_axis(
    operator: str, size: int, attributes: dict[str, Any]
) -> None:
    options = {"kernel_shape": [size, size], "opset": 18, **attributes}
    check_built(operator, [floats(1, 2, 3, 3)], **options)
    if operator == "AveragePool":
        check_built(operator, [floats(1, 2, 3, 3)], count_include_pad=1, **options)
        check_built(operator, [floats(1, 2, 3, 3)], count_include_pad=1, **{**options, "opset": 22})


@pytest.mark.parametrize("value", [None, 7.0])
@pytest.mark.parametrize("pads", [(-6, 0, 3, 0), (3, 1, -6, 2), (-3, 0, -2, 0), (4, 0, -5, 0)])
def test_constant_pad_that_cuts_beyond_the_end(pads: tuple[int, ...], value: float | None) -> None:
    inputs = [floats(5, 4), ints(*pads)]
    inputs += [] if value is None else [np.float32(value)]
    check_built("Pad", inputs, tuple(range(1, len(inputs))))


@pytest.mark.parametrize("mode", ["wrap", "edge", "reflect"])
def test_what_is_repeated_is_looked_for_in_what_is_left(mode: str) -> None:
    check_built("Pad", [floats(5, 4), ints(-1, 2, 1, -1)], (1,), mode=mode)


@pytest.mark.parametrize(
    ("operator", "inputs", "constants", "attributes", "message"),
    [
        ("Pad", [floats(5, 4), ints(-6, 0, 3, 0)], (1,), {"mode": "edge"}, "nothing to repeat"),
        ("Pad", [floats(5, 4), ints(-6, 0, 0, 0)], (1,), {}, "more than the 5 elements"),
        ("ArgMax", [floats(0, 3)], (), {"axis": 0}, "no elements"),
        ("MaxPool", [floats(1, 1, 3)], (), {"kernel_shape": [5]}, "window of 5"),
        ("MaxPool", [floats(1, 1, 3)], (), {"kernel_shape": [2], "pads": [2, 2]}, "padding of 2"),
        (
            "ConvTranspose",
            [floats(1, 1, 1), floats(1, 1, 2)],
            (),
            {"pads": [2, 2]},
            "cuts off more than there is",
        ),
    ],
)
def test_what_onnxruntime_refuses_is_refused(
    operator: str,
    inputs: list[Array],
    constants: tuple[int, ...],
    attributes: dict[str, Any],
    message: str,
) -> None:
    known = {number: inputs[number] for number in constants}
    with pytest.raises(ModelError, match=message):
        from_onnx(make_node_model(operator, inputs, constants=known, **attributes))


def reference_outputs(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Any]:
    return list(ReferenceEvaluator(model).run(None, feeds))


@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_a_window_of_one_element_fits_an_empty_axis(strides: list[int]) -> None:
    """As ONNX's reference has it; onnxruntime refuses images without elements."""
    inputs = [floats(2, 3, 0, 4), floats(5, 3, 1, 1)]
    check_built("Conv", inputs, (1,), answer=reference_outputs, strides=strides)


@pytest.mark.filterwarnings("ignore:Mean of empty:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_a_mean_of_nothing_is_undefined() -> None:
    """As ONNX's reference has it; onnxruntime gives 0."""
    check_built(
        "ReduceMean",
        [floats(2, 0, 3), ints(1)],
        (1,),
        answer=reference_outputs,
    )


@pytest.mark.parametrize("shape", [(2, 3, 1, 4), (0, 3, 4, 4)])
def test_maxima_with_indices_of_no_window(shape: tuple[int, ...]) -> None:
    check_built("MaxPool", [floats(*shape)], outputs=2, kernel_shape=[2, 2])


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_constants_of_empty_rows(operator: str) -> None:
    check_built(operator, [floats(2, 0)], (0,), axis=1)
