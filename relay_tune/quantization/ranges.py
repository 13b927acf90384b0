"""Which range of a tensor is worth the numbers of an integer type.

S. Migacz, "8-bit Inference with TensorRT" (GTC 2017), for the entropy; R. Banner et al., "Post
training 4-bit quantization of convolutional networks" (NeurIPS 2019), for the squared error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import TypeAlias

import numpy as np

from relay_tune.quantization.histogram import Histogram
from relay_tune.transform.quantize.stored_type import StoredType

Range: TypeAlias = tuple[float, float]
"""The least and the largest number that is stored without being cut off."""

PERCENTILE = 99.99
"""How much of each tail is kept by `percentile`."""

SHRINKING = np.geomspace(1.0, 0.02, 120)
"""Parts of the largest magnitude that are tried."""

LEVELS = 256
"""Of a byte."""

MOST_CUT_OFF = 0.01
"""Of all elements: few samples have distributions that say little."""

ENTROPY_BINS = 2048
"""Bins of the distribution that divergences are computed of."""


def whole_range(seen: Histogram, dtype: str) -> Range:
    """From the least element to the largest."""
    return seen.low, seen.high


def percentile_range(seen: Histogram, dtype: str) -> Range:
    """Without the outermost elements of each side."""
    if seen.counts is None:
        return whole_range(seen, dtype)
    total = np.cumsum(seen.counts)
    part = (1 - PERCENTILE / 100) * total[-1]
    low = int(np.searchsorted(total, part, side="right"))
    high = int(np.searchsorted(total, total[-1] - part, side="left"))
    width = float(seen.centers[1] - seen.centers[0])
    first, last = float(seen.centers[low]) - width / 2, float(seen.centers[high]) + width / 2
    return _shortened(seen, max(first, seen.low), min(last, seen.high))


def squared_error_range(seen: Histogram, dtype: str) -> Range:
    """The range whose stored numbers are nearest to the elements in the sum of squares."""
    if seen.counts is None:
        return whole_range(seen, dtype)
    used = np.flatnonzero(seen.counts)
    centers, counts = seen.centers[used], seen.counts[used]

    def error(factor: float) -> float:
        stored = StoredType.of_range(dtype, *_within(seen, factor))
        difference: np.ndarray = stored.rounded(centers) - centers
        return float((counts * difference * difference).sum())

    return _within(seen, min(SHRINKING, key=error))


def entropy_range(seen: Histogram, dtype: str) -> Range:
    """The range whose stored distribution diverges least from that of the elements."""
    if seen.counts is None:
        return whole_range(seen, dtype)
    edges = np.linspace(min(seen.low, 0.0), max(seen.high, 0.0), ENTROPY_BINS + 1)
    bins = np.clip(np.searchsorted(edges, seen.centers, side="right") - 1, 0, ENTROPY_BINS - 1)
    counts = np.bincount(bins, seen.counts, minlength=ENTROPY_BINS)
    zero = min(int(np.searchsorted(edges, 0.0, side="right")), ENTROPY_BINS) - 1
    around = counts[max(zero - 1, 0) : zero + 2].copy()
    counts[zero] = min(counts[zero], np.delete(around, min(zero, 1)).max())  # 0 is stored exactly

    def divergence(factor: float) -> float:
        low, high = _within(seen, factor)
        first = int(np.searchsorted(edges, min(low, 0.0), side="right")) - 1
        last = int(np.searchsorted(edges, max(high, 0.0), side="left"))
        return _divergence(counts, max(first, 0), max(last, zero + 1))

    return _within(seen, min(SHRINKING, key=divergence))


def _divergence(counts: np.ndarray, first: int, last: int) -> float:
    """Of the stored distribution of the bins first .. last from all, in nats."""
    kept = counts[first:last].copy()
    if kept.size < LEVELS or counts.sum() - kept.sum() > MOST_CUT_OFF * counts.sum():
        return inf
    reference = kept.copy()
    reference[0] += counts[:first].sum()
    reference[-1] += counts[last:].sum()
    level = np.arange(kept.size) * LEVELS // max(kept.size, LEVELS)
    used = (kept > 0).astype(np.float64)
    sums, sizes = np.bincount(level, kept), np.bincount(level, used)
    stored = used * (sums / np.maximum(sizes, 1))[level]
    mask = reference > 0
    p, q = reference[mask] / reference.sum(), stored[mask] / max(stored.sum(), 1)
    return float((p * np.log(p / np.maximum(q, 1e-9))).sum())


def _within(seen: Histogram, factor: float) -> Range:
    """Range within a part of the largest magnitude."""
    most = float(factor) * max(-seen.low, seen.high)
    return max(seen.low, -most), min(seen.high, most)


def _shortened(seen: Histogram, low: float, high: float) -> Range:
    """A range that is not empty."""
    return (low, high) if max(-low, high) > 0 else whole_range(seen, "")


METHODS: Mapping[str, Callable[[Histogram, str], Range]] = {
    "minmax": whole_range,
    "percentile": percentile_range,
    "entropy": entropy_range,
    "mse": squared_error_range,
}
"""How ranges are chosen, by name."""
