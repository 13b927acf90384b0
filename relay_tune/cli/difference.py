"""How far the outputs of two runtimes are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def largest_difference(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """The largest difference by the largest expected number of its output, over all outputs.

    The same infinity or NaN on both sides is no difference; one on one side only is infinite, and
    so are outputs of other shapes.
    """
    if [each.shape for each in found] != [each.shape for each in expected]:
        return float("inf")
    pairs = zip(found, expected, strict=True)
    return max((_difference(own, other) for own, other in pairs), default=0.0)


def _difference(found: Array, expected: Array) -> float:
    if found.dtype.kind in "OSU" or expected.dtype.kind in "OSU":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    own, other = found.astype(np.float64), expected.astype(np.float64)
    alike = (own == other) | (np.isnan(own) & np.isnan(other))
    own, other = own[~alike], other[~alike]
    if not own.size:
        return 0.0
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        return float("inf")
    numbers = expected.astype(np.float64)
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    return float(np.abs(own - other).max() / (largest or 1.0))
