from __future__ import annotations

import numpy as np
import pytest

from relay_tune.ir.types import TensorType
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.op.nn.convolution import conv1d, conv2d, conv3d
from relay_tune.tensor.expression import Binary, Literal, Load, Reduce
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Computed, input_tensor

OPERATORS = {1: conv1d, 2: conv2d, 3: conv3d}

AGAINST_ONNX = [
    # data, weight, strides, pads (befores, afters), dilation, groups
    ((1, 3, 9), (4, 3, 3), (1,), (0, 0), (1,), 1),
    ((2, 4, 9), (6, 2, 3), (2,), (2, 1), (2,), 2),
    ((2, 3, 8, 9), (5, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((1, 3, 8, 9), (5, 3, 3, 2), (2, 3), (0, 1, 2, 0), (1, 2), 1),
    ((1, 4, 5, 5), (6, 4, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 6, 5, 5), (6, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 6),
    ((1, 4, 5, 5), (8, 1, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 4),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 3), (1, 2, 1), (1, 0, 1, 0, 1, 2), (1, 1, 1), 1),
]


@pytest.mark.parametrize("data, weight, strides, pads, dilation, groups", AGAINST_ONNX)
def test_convolution_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, data, weight, strides, pads, dilation, groups
):
    arrays = [random_array(data), random_array(weight)]
    attributes = {"strides": strides, "padding": pads, "dilation": dilation, "groups": groups}
    found = check_record(OPERATORS[len(data) - 2], arrays, attributes, 1e-4)
    expected = run_onnx(
        "Conv", arrays, {"strides": strides, "pads": pads, "dilations": dilation, "group": groups}
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


LAYOUTS = [
    ("NHWC", "HWIO", "", 1),
    ("NHWC", "OIHW", "NCHW", 1),
    ("NCHW4c", "OIHW4i4o", "", 1),
    ("NCHW", "OIHW4o", "NCHW4c", 1),
    ("NCHW4c", "OIHW", "NHWC", 1),
    ("NCHW2c", "OIHW2i4o", "NCHW4c", 2),
    ("NCHW4c", "OIHW1i4o", "", 8),
    ("NHWC", "HWIO", "", 8),
    ("NHWC", "HWOI", "", 8),
    ("NCHW2c", "OIHW4o", "NCHW4c", 4),
    ("NCHW4c", "OIHW2i4o", "", 4),
]


@pytest.mark.parametrize("data_layout, kernel_layout, out_layout, groups", LAYOUTS)
def test_layouts_agree_with_plain_layout(
    check_record, random_array, data_layout, kernel_layout, out_layout, groups
):
    data, weight = random_array((2, 8, 5, 6)), random_array((8, 8 // groups, 3, 2))
    common = {"strides": (2, 1), "padding": (1, 0, 1, 1), "groups": groups}
    expected = check_record(conv2d, [data, weight], common)
    layouts = {
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
    }
    stored = [as_stored(data, "NCHW", data_layout), as_stored(weight, "OIHW", kernel_layout)]
    found = check_record(conv2d, stored, {**common, **layouts})
    np.testing.assert_allclose(
        as_whole(found, out_layout or data_layout, "NCHW"), expected, 1e-4, 1e-4
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_summed_in_float32(check_record, dtype):
    ones = np.ones((1, 600, 2, 2), "float32").astype(numpy_dtype(dtype))
    weight = np.ones((1, 600, 2, 2), "float32").astype(numpy_dtype(dtype))
    assert check_record(conv2d, [ones, weight]).astype("float32").item() == 2400


def test_bytes_are_summed_in_out_dtype(check_record, random_array):
    arrays = [random_array((1, 40, 4, 4), "int8"), random_array((3, 40, 3, 3), "int8")]
    found = check_record(conv2d, arrays, {"out_dtype": "int32"})
    assert found.dtype == np.int32
    assert np.abs(found).max() > 127


def _computed(operator, data, weight, shape, **attributes) -> Computed:
    inputs = [input_tensor("x", data, "float32"), input_tensor("w", weight, "float32")]
    types = [TensorType(shape, "float32")]
    (result,) = operator.compute(operator.attributes(**attributes), inputs, types)
    assert isinstance(result, Computed)
    return result


def _loads(result: Computed) -> tuple[Load, Load]:
    product = result.body.body if isinstance(result.body, Reduce) else result.body
    assert isinstance(product, Binary) and product.operation == "mul"
    assert isinstance(product.left, Load) and isinstance(product.right, Load)
    return product.left, product.right


def test_a_blocked_convolution_is_one_reduction_with_affine_indices():
    result = _computed(
        conv2d,
        (1, 2, 6, 6, 16),
        (4, 2, 3, 3, 16, 16),
        (1, 4, 6, 6, 16),
        padding=(1, 1),
        data_layout="NCHW16c",
        kernel_layout="OIHW16i16o",
    )
    assert [axis.name for axis in result.body.axes] == ["cb", "kh", "kw", "ci"]
    data, weight = _loads(result)
    assert data.tensor.name == "pad"
    n, ob, h, w, oi = result.axes
    cb, kh, kw, ci = result.body.axes
    assert data.indices[1] is cb and data.indices[4] is ci
    assert weight.indices == (ob, cb, kh, kw, ci, oi)


def test_a_blocked_depthwise_convolution_reads_the_channel_that_it_writes():
    result = _computed(
        conv2d,
        (1, 2, 6, 6, 16),
        (2, 1, 3, 3, 1, 16),
        (1, 2, 4, 4, 16),
        groups=32,
        data_layout="NCHW16c",
        kernel_layout="OIHW1i16o",
    )
    data, weight = _loads(result)
    assert data.tensor.name == "x"
    assert [axis.name for axis in result.body.axes] == ["kh", "kw"]
    assert data.indices[1] is result.axes[1] and data.indices[4] is result.axes[4]


def test_axes_of_one_element_are_not_reduced():
    result = _computed(conv2d, (1, 8, 5, 5), (4, 8, 1, 1), (1, 4, 5, 5))
    assert [axis.name for axis in result.body.axes] == ["c"]
    _, weight = _loads(result)
    assert isinstance(weight.indices[2], Literal) and isinstance(weight.indices[3], Literal)
