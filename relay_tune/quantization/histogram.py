"""The distribution of the elements of a tensor, collected part by part in constant memory."""

from __future__ import annotations

import numpy as np

from relay_tune.quick_dataclass import dataclass

HALF = 4096
"""How many bins there are on each side of 0."""

SMALLEST = 2.0**-126
"""The smallest magnitude that bins are made for."""

SMALLEST_RANGE = 2.0**16 * SMALLEST
"""The smallest magnitude that has a scale, also where its range is shortened."""


@dataclass(slots=True)
class Histogram:
    """Counts of elements in bins around 0 whose width is a power of two.

    A part that does not fit joins bins two by two, so that what was counted stays exact.

    Attributes:
        low: the least element; `inf` before any.
        high: the largest one.
        exponent: bins are 2**exponent wide; None before any element other than 0.
        counts: of 2 * HALF bins; bin HALF begins at 0.
        infinite: elements that are no finite numbers.
    """

    low: float = np.inf
    high: float = -np.inf
    exponent: int | None = None
    counts: np.ndarray | None = None
    infinite: int = 0

    def add(self, part: np.ndarray) -> None:
        """Count the elements of an array of floats."""
        data = part.reshape(-1)
        finite = np.isfinite(data)
        if not finite.all():
            self.infinite += int(data.size - finite.sum())
            data = data[finite]
        if not data.size:
            return
        low, high = float(data.min()), float(data.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        self._make_room(max(-low, high, SMALLEST))
        assert self.exponent is not None and self.counts is not None  # there is room now
        bins = np.floor(np.ldexp(data.astype(np.float64), -self.exponent)).astype(np.int64) + HALF
        self.counts += np.bincount(bins, minlength=2 * HALF)

    @property
    def centers(self) -> np.ndarray:
        """The middles of the bins."""
        width = np.ldexp(1.0, 0 if self.exponent is None else self.exponent)
        return np.asarray((np.arange(-HALF, HALF) + 0.5) * width)

    @property
    def is_usable(self) -> bool:
        """Whether there are elements, all finite, and not all so near to 0 that no scale fits."""
        if self.infinite or self.low > self.high:
            return False
        return max(-self.low, self.high) >= SMALLEST_RANGE

    def _make_room(self, magnitude: float) -> None:
        needed = int(np.frexp(magnitude)[1]) - int(np.log2(HALF))
        if self.exponent is None or self.counts is None:
            self.exponent, self.counts = needed, np.zeros(2 * HALF, np.int64)
        while self.exponent < needed:
            joined = self.counts.reshape(HALF, 2).sum(axis=1)
            self.counts = np.zeros(2 * HALF, np.int64)
            self.counts[HALF // 2 : HALF // 2 + HALF] = joined
            self.exponent += 1
