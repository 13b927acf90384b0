import numpy as np
import pytest

from relay_tune.quantization.histogram import Histogram
from relay_tune.quantization.ranges import METHODS
from relay_tune.transform.quantize.stored_type import StoredType


def seen(data: np.ndarray) -> Histogram:
    histogram = Histogram()
    histogram.add(data.astype("float32"))
    return histogram


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy"])
def test_outliers_are_cut_off_but_by_the_whole_range(method: str) -> None:
    data = np.append(np.random.default_rng(0).standard_normal(200_000), 1000.0)
    low, high = METHODS[method](seen(data), "uint8")
    assert (high == 1000) if method == "minmax" else (3 < high < 300)
    assert low < 0


@pytest.mark.parametrize("method", METHODS)
def test_few_numbers_are_not_cut_off(method: str) -> None:
    data = np.random.default_rng(0).standard_normal(300)
    low, high = METHODS[method](seen(data), "int8")
    assert low < 0.7 * data.min() and high > 0.7 * data.max()


def test_squared_errors_are_least() -> None:
    data = np.random.default_rng(0).laplace(size=100_000)
    errors = {}
    for method in METHODS:
        stored = StoredType.of_range("int8", *METHODS[method](seen(data), "int8"))
        errors[method] = float(((stored.rounded(data) - data) ** 2).sum())
    assert errors["mse"] < 0.95 * errors["minmax"]
    assert errors["mse"] <= 1.01 * min(errors.values())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", [[5.0, 5.0], [-1.0, 0.0], [0.0, 1e-30], [1e30, -1e30]])
def test_ranges_of_few_numbers_hold_them(method: str, data: list[float]) -> None:
    low, high = METHODS[method](seen(np.array(data)), "int8")
    stored = StoredType.of_range("int8", low, high)
    assert np.isfinite(stored.scale) and stored.scale > 0
    largest = max(map(abs, data))
    assert np.allclose(stored.rounded(np.array(data)), data, atol=0.02 * largest)


def test_most_numbers_of_a_rectified_tensor_are_kept() -> None:
    data = np.maximum(np.random.default_rng(0).standard_normal(200_000), 0)
    for method in METHODS:
        low, high = METHODS[method](seen(data), "uint8")
        assert low == 0 and 2.5 < high < 5, method


def test_zero_is_stored_exactly() -> None:
    for dtype in ("uint8", "int8"):
        for low, high in ((-1.0, 2.0), (0.5, 3.0), (-7.0, -1.0)):
            stored = StoredType.of_range(dtype, low, high)
            assert stored.rounded(np.zeros(1)) == 0
            ends = np.array([min(low, 0.0), max(high, 0.0)])
            assert np.allclose(stored.rounded(ends), ends, atol=float(stored.scale))
