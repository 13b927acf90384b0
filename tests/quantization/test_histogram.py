import numpy as np

from relay_tune.quantization.histogram import HALF, Histogram
from relay_tune.quantization.ranges import METHODS
from relay_tune.transform.quantize.stored_type import StoredType


def test_bins_hold_what_was_seen_whatever_the_order() -> None:
    random = np.random.default_rng(0)
    parts = [random.standard_normal(1000) * size for size in (1e-3, 1.0, 30.0, 0.5)]
    one, other = Histogram(), Histogram()
    for part in parts:
        one.add(part.astype("float32"))
    for part in reversed(parts):
        other.add(part.astype("float32"))
    data = np.concatenate(parts).astype("float32")
    assert (one.low, one.high) == (data.min(), data.max())
    assert one.exponent == other.exponent
    assert np.array_equal(one.counts, other.counts)
    edges = np.arange(-HALF, HALF + 1) * 2.0**one.exponent
    assert np.array_equal(one.counts, np.histogram(data.astype(float), edges)[0])


def test_ends_of_bins() -> None:
    seen = Histogram()
    seen.add(np.array([-2, -1, 0, 1, 2], "float32"))
    assert seen.counts.sum() == 5
    assert np.allclose(seen.centers[np.flatnonzero(seen.counts)], [-2, -1, 0, 1, 2], atol=1e-3)


def test_odd_numbers() -> None:
    seen = Histogram()
    seen.add(np.zeros((2, 3), "float32"))
    assert not seen.is_usable
    seen.add(np.array([1e-45, 3e38], "float32"))
    assert seen.is_usable and seen.counts.sum() == 8
    seen.add(np.array([np.nan, np.inf, 1], "float32"))
    assert not seen.is_usable and seen.infinite == 2
    empty = Histogram()
    empty.add(np.zeros((0, 3), "float32"))
    assert not empty.is_usable


def test_what_is_too_near_to_zero_has_no_scale() -> None:
    seen = Histogram()
    seen.add(np.array([1e-45, -1e-36], "float32"))
    assert not seen.is_usable
    seen.add(np.array([1e-33], "float32"))
    assert seen.is_usable
    for method in METHODS.values():
        stored = StoredType.of_range("uint8", *method(seen, "uint8"))
        assert stored.scale >= np.finfo(np.float32).tiny
