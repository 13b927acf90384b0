from __future__ import annotations

import numpy as np
import pytest

from relay_tune.op.nn.local_norm import l2_normalize, lrn


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn_agrees_with_onnxruntime(check_record, run_onnx, random_array, size):
    data = random_array((2, 7, 3, 4))
    attributes = {"size": size, "alpha": 0.5, "beta": 0.6, "bias": 1.5}
    found = check_record(lrn, [data], attributes)
    np.testing.assert_allclose(found, run_onnx("LRN", [data], attributes), 1e-5, 1e-6)


def test_lrn_of_an_even_size_looks_further_behind(check_record):
    data = np.array([[1.0, 2.0, 3.0]], "float32")
    found = check_record(lrn, [data], {"size": 2, "alpha": 2.0, "beta": 1.0, "bias": 0.0})
    np.testing.assert_allclose(found, [[1 / 5, 2 / 13, 3 / 9]], 1e-6)


@pytest.mark.parametrize("axis", [None, 1, (1, -1), (0,)])
def test_l2_normalize(check_record, random_array, axis):
    data = random_array((2, 3, 4))
    found = check_record(l2_normalize, [data], {"eps": 1e-6, "axis": axis})
    norm = np.sqrt(np.square(data).sum(axis=axis, keepdims=True))
    np.testing.assert_allclose(found, data / norm, 1e-5, 1e-6)


def test_l2_normalize_of_zeros_is_zero(check_record):
    found = check_record(l2_normalize, [np.zeros((2, 3), "float32")], {"eps": 1e-6, "axis": 1})
    assert (found == 0).all()


def test_lrn_of_more_neighbours_than_there_are(check_record, random_array):
    data = random_array((1, 3, 2, 2))
    attributes = {"alpha": 2.0**31, "beta": 0.5, "bias": 1.0}
    found = check_record(lrn, [data], {"size": 2**31 - 1, **attributes})
    squares = np.square(data).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, data / np.sqrt(1 + squares), rtol=1e-5)
