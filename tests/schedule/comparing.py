"""Comparison with what `evaluate` gives, as exact as the element type allows."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TOLERANCES = {"float64": 1e-5, "float32": 1e-4, "float16": 2e-2, "bfloat16": 6e-2}
"""Relative to the largest element; float64 results may come from float32 steps."""


def difference(found: Array, expected: Array, *, coarse: bool = False) -> str | None:
    """How two arrays differ, or None if they agree; `coarse` results come from 16-bit floats."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    tolerance = TOLERANCES.get(found.dtype.name)
    if coarse and tolerance is not None:
        tolerance = TOLERANCES["bfloat16"]
    if tolerance is None:
        wrong = found != expected
    else:
        x, y = found.astype("float64"), expected.astype("float64")
        finite = np.abs(y[np.isfinite(y)])
        scale = max(1.0, float(finite.max(initial=0.0)))
        with np.errstate(invalid="ignore"):
            near = np.abs(x - y) <= tolerance * scale
        wrong = ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))
    if not wrong.any():
        return None
    index = tuple(int(n) for n in np.argwhere(wrong)[0])
    return f"{found[index]} instead of {expected[index]} at {index}, {wrong.sum()} wrong"
