from __future__ import annotations

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType
from relay_tune.op.image.resize import resize1d, resize2d, resize3d
from relay_tune.op.layout_arrays import as_stored, as_whole
from relay_tune.tensor.expression import Load
from relay_tune.tensor.tensor import input_tensor

OPERATORS = {1: resize1d, 2: resize2d, 3: resize3d}

MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]

ONNX_METHOD = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}


def _run(run_onnx, data, attributes, sizes=None, scales=None, roi=None):
    sizes = None if sizes is None else np.array(sizes, "int64")
    scales = None if scales is None else np.array(scales, "float32")
    arrays = [data, roi, scales] if sizes is None else [data, roi, scales, sizes]
    return run_onnx("Resize", arrays, attributes, 19)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("size", [(5, 9), (8, 8), (3, 4), (2, 1)])
def test_interpolation_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, mode, method, size
):
    data = random_array((1, 2, 4, 6))
    found = check_record(
        resize2d,
        [data],
        {
            "size": size,
            "method": method,
            "coordinate_transformation_mode": mode,
            "cubic_alpha": -0.75,
        },
        1e-4,
    )
    expected = _run(
        run_onnx,
        data,
        {"mode": ONNX_METHOD[method], "coordinate_transformation_mode": mode},
        sizes=(1, 2, *size),
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("size", [(8, 12), (2, 9), (4, 4)])
def test_nearest_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, mode, rounding, size
):
    data = random_array((1, 2, 4, 6))
    found = check_record(
        resize2d,
        [data],
        {
            "size": size,
            "method": "nearest_neighbor",
            "coordinate_transformation_mode": mode,
            "rounding_method": rounding,
        },
    )
    expected = _run(
        run_onnx,
        data,
        {
            "mode": "nearest",
            "coordinate_transformation_mode": mode,
            "nearest_mode": rounding,
        },
        sizes=(1, 2, *size),
    )
    np.testing.assert_array_equal(found, expected)


def test_cubic_without_the_outside(check_record, run_onnx, random_array):
    data = random_array((1, 1, 5, 4))
    attributes = {"size": (9, 7), "method": "cubic", "cubic_alpha": -0.5, "cubic_exclude": 1}
    found = check_record(resize2d, [data], attributes, 1e-4)
    expected = _run(
        run_onnx,
        data,
        {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
        sizes=(1, 1, 9, 7),
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("region", [(0.25, 0.3, 0.75, 0.9), (-0.5, 0.2, 1.25, 0.8)])
@pytest.mark.parametrize("method", ["linear", "nearest_neighbor"])
def test_crop_and_resize_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, region, method
):
    data = random_array((1, 2, 5, 6))
    mode = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
    attributes = {"size": (4, 3), "roi": region, "method": method, "rounding_method": "floor"}
    found = check_record(resize2d, [data], {**attributes, **mode}, 1e-4)
    roi = np.array([0, 0, *region[:2], 1, 1, *region[2:]], "float32")
    expected = _run(
        run_onnx,
        data,
        {"mode": ONNX_METHOD[method], "nearest_mode": "floor", **mode},
        sizes=(1, 2, 4, 3),
        roi=roi,
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "half_pixel_symmetric"])
def test_scales_that_do_not_give_a_whole_size(check_record, run_onnx, random_array, mode):
    data = random_array((1, 2, 5, 7))
    attributes = {"size": (3, 11), "scales": (0.7, 1.6), "coordinate_transformation_mode": mode}
    found = check_record(resize2d, [data], attributes, 1e-4)
    expected = _run(
        run_onnx,
        data,
        {"mode": "linear", "coordinate_transformation_mode": mode},
        scales=(1, 1, 0.7, 1.6),
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("shape, size", [((2, 3, 5), (8,)), ((1, 2, 3, 4, 5), (5, 6, 3))])
def test_other_ranks_agree_with_onnxruntime(check_record, run_onnx, random_array, shape, size):
    data = random_array(shape)
    found = check_record(OPERATORS[len(size)], [data], {"size": size}, 1e-4)
    expected = _run(run_onnx, data, {"mode": "linear"}, sizes=(*shape[:2], *size))
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW4c"])
@pytest.mark.parametrize("method", ["nearest_neighbor", "linear"])
def test_layouts_agree_with_plain_layout(check_record, random_array, layout, method):
    data = random_array((1, 8, 3, 4))
    attributes = {"size": (5, 7), "method": method}
    stored = as_stored(data, "NCHW", layout)
    found = check_record(resize2d, [stored], {**attributes, "layout": layout})
    expected = check_record(resize2d, [data], attributes)
    np.testing.assert_allclose(as_whole(found, layout, "NCHW"), expected, 1e-5, 1e-6)


def test_out_dtype(check_record, random_array):
    data = random_array((1, 1, 3, 3), "uint8")
    found = check_record(resize2d, [data], {"size": (5, 5), "out_dtype": "float32"})
    assert found.dtype == np.float32


def test_the_same_size_is_a_copy(check_record, random_array):
    data = random_array((1, 2, 3, 4))
    np.testing.assert_array_equal(check_record(resize2d, [data], {"size": (3, 4)}), data)


def test_doubling_by_nearest_neighbours_divides_the_index_by_2():
    data = input_tensor("x", (1, 1, 4), "float32")
    record = resize1d.attributes(
        size=(8,), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"
    )
    (result,) = resize1d.compute(record, [data], [TensorType((1, 1, 8), "float32")])
    assert isinstance(result.body, Load)
    index = result.body.indices[2]
    assert (index.operation, index.left, index.right.value) == ("floordiv", result.axes[2], 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "sinc"},
        {"coordinate_transformation_mode": "middle"},
        {"method": "nearest_neighbor", "rounding_method": "up"},
    ],
)
def test_unknown_words_are_errors(random_array, wrong):
    record = resize2d.attributes(size=(5, 5), **wrong)
    with pytest.raises(InputError, match="unknown"):
        resize2d.reference(record, random_array((1, 1, 3, 3)))
