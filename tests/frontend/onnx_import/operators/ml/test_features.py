"""Features that are scaled, normalised, encoded and chosen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import numpy_helper

from relay_tune.errors import UnsupportedOperatorError

Check = Callable[..., None]


def rows() -> np.ndarray:
    """Examples, one of which is all zero and one negative."""
    data = np.random.default_rng(3).standard_normal((5, 4)).astype(np.float32)
    data[2] = 0
    data[3] = -np.abs(data[3])
    return data


def test_scaler(check_classical: Check) -> None:
    check_classical("Scaler", rows(), offset=[0.1, 0.2, 0.3, 0.4], scale=[2.0, 3.0, 4.0, 5.0])
    check_classical("Scaler", np.arange(8).reshape(2, 4), offset=[0.5], scale=[2.0])


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(check_classical: Check, norm: str) -> None:
    check_classical("Normalizer", rows(), norm=norm)
    check_classical("Normalizer", rows()[0], norm=norm)


def test_imputer(check_classical: Check) -> None:
    data = rows()
    data[1, 2], data[0, 0] = np.nan, 7
    every = [1.0, 2.0, 3.0, 4.0]
    nan = float("nan")
    check_classical("Imputer", data, imputed_value_floats=every, replaced_value_float=nan)
    data[1, 2] = 0
    check_classical("Imputer", data, imputed_value_floats=[1.0], replaced_value_float=7.0)
    whole = np.arange(8).reshape(2, 4)
    check_classical("Imputer", whole, imputed_value_int64s=[9], replaced_value_int64=3)


def test_chosen_and_joined_features(check_classical: Check) -> None:
    check_classical("Binarizer", rows(), threshold=0.3)
    check_classical("ArrayFeatureExtractor", rows(), np.array([[3, 1]]))
    check_classical("ArrayFeatureExtractor", rows()[0], np.array([3, 1]))
    check_classical("FeatureVectorizer", rows(), rows()[:, :2], inputdimensions=[4, 2])


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_categories(check_classical: Check, dtype: str) -> None:
    data = np.array([[1, 3], [9, 7]], dtype)
    check_classical("OneHotEncoder", data, cats_int64s=[1, 3, 7])


def test_labels(check_classical: Check) -> None:
    data = np.array([[1, 2], [3, 5], [9, -4]])
    numbers = {"keys_int64s": [5, 1, 3, 1], "values_floats": [0.5, 0.1, 0.3, 0.9]}
    check_classical("LabelEncoder", data, **numbers, default_float=-2.0)
    nan = np.array([1, 2, np.nan, 5], np.float32)
    floats = {"keys_floats": [5.0, 1.0, float("nan")], "values_int64s": [50, 10, 99]}
    check_classical("LabelEncoder", nan, **floats, version=4)
    tensors = {
        name: numpy_helper.from_array(np.array(values))
        for name, values in (
            ("keys_tensor", [5, 1, 3]),
            ("values_tensor", [0.5, 0.1, 0.3]),
            ("default_tensor", [4.0]),
        )
    }
    check_classical("LabelEncoder", data, **tensors, version=4)


def test_labels_that_are_strings_are_refused(check_classical: Check) -> None:
    with pytest.raises(UnsupportedOperatorError, match="keys that are strings"):
        check_classical("LabelEncoder", rows(), keys_strings=["a"], values_int64s=[1])
