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


def test_short_floats_are_summed_in_float32(check_record):
    data = np.zeros((1, 5000), "float16")
    np.testing.assert_allclose(check_record(softmax, [data]), 1 / 5000, 1e-3)
