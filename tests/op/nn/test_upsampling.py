from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.upsampling import upsampling, upsampling3d


@pytest.mark.parametrize("layout, axes", [("NCHW", (2, 3)), ("NHWC", (1, 2))])
def test_nearest_neighbours_are_repeated(check_record, random_array, layout, axes):
    data = random_array((1, 2, 3, 4))
    found = check_record(upsampling, [data], {"scale_h": 2, "scale_w": 3, "layout": layout})
    np.testing.assert_array_equal(found, data.repeat(2, axes[0]).repeat(3, axes[1]))


def test_aligned_corners_stay(check_record, random_array):
    data = random_array((1, 1, 3, 4))
    attributes = {"scale_h": 2, "scale_w": 2, "method": "bilinear", "align_corners": True}
    found = check_record(upsampling, [data], attributes)
    np.testing.assert_allclose(found[0, 0, ::5, ::7], data[0, 0, ::2, ::3], 1e-5)


def test_bilinear_agrees_with_onnxruntime(check_record, run_onnx, random_array):
    data = random_array((1, 2, 3, 4))
    attributes = {"scale_h": 2, "scale_w": 3, "method": "bilinear"}
    found = check_record(upsampling, [data], attributes)
    scales = np.array([1, 1, 2, 3], "float32")
    mode = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    np.testing.assert_allclose(found, run_onnx("Resize", [data, None, scales], mode), 1e-5, 1e-6)


def test_three_spatial_axes(check_record, random_array):
    data = random_array((1, 2, 2, 3, 2))
    found = check_record(upsampling3d, [data], {"scale_d": 2, "scale_h": 2, "scale_w": 1})
    np.testing.assert_array_equal(found, data.repeat(2, 2).repeat(2, 3))
