from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.activation import gelu, leaky_relu, prelu, relu


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_relu(check_record, random_array, dtype):
    data = random_array((3, 1, 5), dtype)
    np.testing.assert_array_equal(check_record(relu, [data]), np.where(data > 0, data, 0))


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_leaky_relu_agrees_with_onnxruntime(check_record, run_onnx, random_array, alpha):
    data = random_array((3, 5))
    found = check_record(leaky_relu, [data], {"alpha": alpha})
    np.testing.assert_allclose(found, run_onnx("LeakyRelu", [data], {"alpha": alpha}), 1e-6)


@pytest.mark.parametrize("axis", [1, 2, -1, 0])
def test_prelu_has_one_slope_for_each_channel(check_record, random_array, axis):
    data = random_array((2, 3, 4))
    slope = random_array((data.shape[axis],))
    found = check_record(prelu, [data, slope], {"axis": axis})
    shape = [1, 1, 1]
    shape[axis] = -1
    np.testing.assert_array_equal(found, np.where(data > 0, data, data * slope.reshape(shape)))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float16", 2e-3)])
def test_gelu_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, approximate, dtype, tolerance
):
    data = random_array((7, 9), dtype) * np.asarray(3, dtype)
    found = check_record(gelu, [data], {"approximate": approximate}, tolerance)
    wide = data.astype("float32")
    expected = run_onnx("Gelu", [wide], {"approximate": approximate}, 20)
    np.testing.assert_allclose(found.astype("float32"), expected, tolerance, tolerance)
