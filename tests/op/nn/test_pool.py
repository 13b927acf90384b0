from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.types import TensorType
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.nn.pool import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from relay_tune.tensor.expression import Binary, Literal
from relay_tune.tensor.tensor import Computed, input_tensor

MAX = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}
AVERAGE = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}

WINDOWS = [
    # data, window, strides, pads, dilation, ceil mode
    ((2, 3, 9), (3,), (2,), (0, 0), (1,), False),
    ((2, 3, 10), (3,), (2,), (1, 0), (1,), True),
    ((1, 2, 8), (2,), (3,), (1, 1), (1,), True),
    ((1, 2, 8), (2,), (3,), (1, 0), (1,), True),
    ((1, 2, 9, 10), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), False),
    ((1, 2, 9, 10), (3, 2), (2, 3), (1, 0, 2, 1), (1, 1), True),
    ((1, 2, 9, 10), (2, 3), (1, 2), (1, 2, 0, 1), (2, 3), False),
    ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (0, 1, 1, 1, 0, 1), (1, 1, 1), True),
]


def _attributes(window, strides, pads, dilation, ceil):
    return {
        "pool_size": window,
        "strides": strides,
        "padding": pads,
        "dilation": dilation,
        "ceil_mode": ceil,
    }


def _onnx_attributes(window, strides, pads, dilation, ceil):
    return {
        "kernel_shape": window,
        "strides": strides,
        "pads": pads,
        "dilations": dilation,
        "ceil_mode": int(ceil),
    }


@pytest.mark.parametrize("data, window, strides, pads, dilation, ceil", WINDOWS)
def test_max_pool_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, data, window, strides, pads, dilation, ceil
):
    array = random_array(data) - 5
    found = check_record(
        MAX[len(window)], [array], _attributes(window, strides, pads, dilation, ceil)
    )
    expected = run_onnx(
        "MaxPool", [array], _onnx_attributes(window, strides, pads, dilation, ceil), 22
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("data, window, strides, pads, dilation, ceil", WINDOWS)
def test_avg_pool_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, data, window, strides, pads, dilation, ceil, include
):
    array = random_array(data)
    attributes = _attributes(window, strides, pads, dilation, ceil)
    found = check_record(
        AVERAGE[len(window)], [array], {**attributes, "count_include_pad": include}
    )
    onnx_attributes = _onnx_attributes(window, strides, pads, dilation, ceil)
    expected = run_onnx(
        "AveragePool", [array], {**onnx_attributes, "count_include_pad": int(include)}, 22
    )
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("operator", [max_pool2d, avg_pool2d])
@pytest.mark.parametrize("layout, out_layout", [("NHWC", ""), ("NCHW4c", ""), ("NHWC", "NCHW2c")])
def test_layouts_agree_with_plain_layout(check_record, random_array, operator, layout, out_layout):
    data = random_array((2, 8, 7, 5))
    common = {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 0, 1, 1)}
    expected = check_record(operator, [data], common)
    stored = as_stored(data, "NCHW", layout)
    found = check_record(operator, [stored], {**common, "layout": layout, "out_layout": out_layout})
    found = as_whole(found, out_layout or layout, "NCHW")
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_average_of_bytes_does_not_overflow(check_record):
    data = np.full((1, 1, 4, 4), -100, "int8")
    found = check_record(avg_pool2d, [data], {"pool_size": (3, 3)})
    assert (found == -100).all()


def test_maximum_of_bytes_with_padding(check_record, random_array):
    data = random_array((1, 2, 5, 5), "int8") - np.int8(100)
    check_record(max_pool2d, [data], {"pool_size": (3, 3), "padding": (1, 1)})


def test_average_without_borders_multiplies_by_a_literal():
    data = input_tensor("x", (1, 2, 6, 6), "float32")
    record = avg_pool2d.attributes(pool_size=(2, 2), strides=(2, 2))
    (result,) = avg_pool2d.compute(record, [data], [TensorType((1, 2, 3, 3), "float32")])
    assert isinstance(result, Computed) and isinstance(result.body, Binary)
    assert isinstance(result.body.right, Literal) and result.body.right.value == 0.25
