from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.types import TensorType
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.nn.transposed_convolution import (
    conv1d_transpose,
    conv2d_transpose,
    conv3d_transpose,
)
from relay_tune.tensor.expression import Load, Reduce, Tensor
from relay_tune.tensor.tensor import Computed, input_tensor

OPERATORS = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}

AGAINST_ONNX = [
    # data, weight, strides, pads, dilation, groups, output padding
    ((1, 3, 5), (3, 4, 3), (1,), (0, 0), (1,), 1, (0,)),
    ((1, 3, 5), (3, 4, 3), (2,), (1, 1), (1,), 1, (1,)),
    ((1, 3, 5), (3, 4, 4), (3,), (2, 1), (1,), 1, (0,)),
    ((1, 3, 5), (3, 4, 2), (3,), (0, 0), (1,), 1, (2,)),
    ((1, 3, 5), (3, 4, 3), (1,), (1, 2), (2,), 1, (0,)),
    ((1, 3, 5), (3, 4, 3), (3,), (1, 0), (2,), 1, (1,)),
    ((1, 3, 5), (3, 4, 5), (2,), (4, 3), (1,), 1, (0,)),
    ((1, 3, 5), (3, 4, 3), (2,), (3, 4), (2,), 1, (1,)),
    ((2, 4, 4, 5), (4, 3, 4, 4), (2, 2), (1, 1, 1, 1), (1, 1), 1, (0, 0)),
    ((2, 4, 4, 5), (4, 3, 3, 2), (2, 3), (0, 1, 1, 0), (1, 1), 2, (1, 0)),
    ((1, 4, 4, 4), (4, 1, 3, 3), (2, 1), (1, 1, 1, 1), (1, 2), 4, (1, 0)),
    ((1, 2, 3, 3, 2), (2, 3, 2, 3, 2), (2, 2, 1), (0, 1, 0, 0, 1, 0), (1, 1, 1), 1, (0, 1, 0)),
]


@pytest.mark.parametrize("data, weight, strides, pads, dilation, groups, extra", AGAINST_ONNX)
def test_transposed_convolution_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, data, weight, strides, pads, dilation, groups, extra
):
    arrays = [random_array(data), random_array(weight)]
    attributes = {
        "strides": strides,
        "padding": pads,
        "dilation": dilation,
        "groups": groups,
        "output_padding": extra,
    }
    found = check_record(OPERATORS[len(data) - 2], arrays, attributes, 1e-4)
    expected = run_onnx(
        "ConvTranspose",
        arrays,
        {
            "strides": strides,
            "pads": pads,
            "dilations": dilation,
            "group": groups,
            "output_padding": extra,
        },
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


@pytest.mark.parametrize(
    "data_layout, kernel_layout, out_layout, groups",
    [
        ("NHWC", "HWIO", "", 1),
        ("NHWC", "HWOI", "NCHW", 2),
        ("NCHW4c", "IOHW4i2o", "", 1),
        ("NCHW4c", "IOHW", "NHWC", 4),
        ("NHWC", "IOHW", "NCHW2c", 8),
    ],
)
def test_layouts_agree_with_plain_layout(
    check_record, random_array, data_layout, kernel_layout, out_layout, groups
):
    data, weight = random_array((2, 8, 3, 4)), random_array((8, 8 // groups, 4, 3))
    common = {"strides": (2, 2), "padding": (1, 0, 1, 1), "groups": groups}
    expected = check_record(conv2d_transpose, [data, weight], common)
    layouts = {
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
    }
    stored = [as_stored(data, "NCHW", data_layout), as_stored(weight, "IOHW", kernel_layout)]
    found = check_record(conv2d_transpose, stored, {**common, **layouts})
    found = as_whole(found, out_layout or data_layout, "NCHW")
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_no_product_with_an_inserted_zero_is_computed():
    data = input_tensor("x", (1, 4, 4, 8), "float32")
    weight = input_tensor("w", (4, 4, 8, 16), "float32")
    record = conv2d_transpose.attributes(
        strides=(2, 2), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO"
    )
    types = [TensorType((1, 8, 8, 16), "float32")]
    (result,) = conv2d_transpose.compute(record, [data, weight], types)
    phases = _loaded(result)
    assert isinstance(phases, Computed) and isinstance(phases.body, Reduce)
    assert phases.shape == (1, 4, 2, 4, 2, 16)
    assert [axis.extent for axis in phases.body.axes] == [8, 2, 2]


def _loaded(tensor: Tensor) -> Tensor:
    assert isinstance(tensor, Computed) and isinstance(tensor.body, Load)
    return tensor.body.tensor


def test_blocks_of_channels_are_reduced_block_by_block():
    data = input_tensor("x", (1, 2, 4, 4, 16), "float32")
    weight = input_tensor("w", (32, 16, 2, 2), "float32")
    record = conv2d_transpose.attributes(strides=(2, 2), data_layout="NCHW16c")
    types = [TensorType((1, 1, 8, 8, 16), "float32")]
    (result,) = conv2d_transpose.compute(record, [data, weight], types)
    phases = _loaded(result)
    assert [axis.name for axis in phases.body.axes] == ["cb", "ci"]
    _, cb, _, _, ci = phases.body.body.left.indices
    assert (cb, ci) == phases.body.axes
