from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.softmax import log_softmax, softmax


@pytest.mark.parametrize("operator, onnx_name", [(softmax, "Softmax"), (log_softmax, "LogSoftmax")])
@pytest.mark.parametrize("shape, axis", [((3, 7), -1), ((2, 3, 4), 1), ((2, 1, 4), 1), ((5,), 0)])
def test_softmax_agrees_with_onnxruntime(
    check_record, run_onnx, random_array, operator, onnx_name, shape, axis
):
    data = random_array(shape)
    found = check_record(operator, [data], {"axis": axis})
    np.testing.assert_allclose(found, run_onnx(onnx_name, [data], {"axis": axis}), 1e-5, 1e-6)


@pytest.mark.parametrize("operator", [softmax, log_softmax])
def test_large_numbers_do_not_overflow(check_record, operator):
    data = np.array([[1000.0, 1001.0, -1000.0]], "float32")
    assert np.isfinite(check_record(operator, [data])).all()


@pytest.mark.parametrize("operator", [softmax, log_softmax])
@pytest.mark.parametrize("size", [1e3, 1e6, 3.1e9, 1e30, 1.6e38])
def test_the_difference_of_large_numbers_is_taken_first(check_record, operator, size):
    data = (np.linspace(-1, 1, 37)[[3, 36, 20, 35]] * size).astype("float32")[None]
    wide = data.astype("float64")
    expected = operator.reference(operator.attributes(), wide)
    np.testing.assert_allclose(check_record(operator, [data]), expected, 2e-6, 1e-30)
    near = np.full((1, 5), size, "float32")
    uniform = 0.2 if operator is softmax else np.log(0.2)
    np.testing.assert_allclose(check_record(operator, [near]), np.full((1, 5), uniform), 1e-6)


@pytest.mark.parametrize("operator", [softmax, log_softmax])
def test_masked_elements_take_no_share(check_record, operator):
    data = np.array([[1.0, -np.inf, 3.4e38], [0.0, -np.inf, 0.0]], "float32")
    found = check_record(operator, [data])
    shares = found if operator is softmax else np.exp(found)
    np.testing.assert_allclose(shares, [[0, 0, 1], [0.5, 0, 0.5]], 1e-6)
    masked = check_record(operator, [np.full((1, 9), -np.inf, "float32")])
    assert np.isnan(masked).all()


@pytest.mark.parametrize("operator", [softmax, log_softmax])
@pytest.mark.parametrize("position", [0, 3, 36])
def test_a_row_with_nan_is_nan(check_record, random_array, operator, position):
    data = random_array((3, 37))
    data[1, position] = np.nan
    found = check_record(operator, [data])
    assert np.isnan(found[1]).all() and np.isfinite(found[[0, 2]]).all()


def test_short_floats_are_summed_in_float32(check_record):
    data = np.zeros((1, 5000), "float16")
    np.testing.assert_allclose(check_record(softmax, [data]), 1 / 5000, 1e-3)
