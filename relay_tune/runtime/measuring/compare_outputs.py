"""Whether what a kernel computed is what the reference says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 8e-2}
"""Allowed difference as a share of the largest magnitude in the reference, by element type."""


def difference(found: Array, expected: Array, *, rounds_factors: bool = False) -> str | None:
    """The difference between `found` and the reference; None if there is none.

    Floats may differ by a share of the largest finite magnitude (sums in another order round
    differently), that of bfloat16 if it `rounds_factors` of products to this; NaN and infinities
    must stand at the same indices. All else must be equal.
    """
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        return _unequal(found, expected)
    if rounds_factors:
        tolerance = max(tolerance, TOLERANCES["bfloat16"])
    found, expected = _wide(found), _wide(expected)
    finite = np.isfinite(expected)
    if not _same_specials(found, expected, finite):
        position = int(np.argmax(np.isfinite(found).reshape(-1) != finite.reshape(-1)))
        return _at(position, found, expected)
    scale = float(np.abs(expected[finite]).max(initial=0.0))
    error = np.abs(np.where(finite, found, 0) - np.where(finite, expected, 0)).reshape(-1)
    if error.size == 0 or float(error.max()) <= tolerance * max(scale, 1e-30):
        return None
    return _at(int(np.argmax(error)), found, expected)


def _wide(values: Array) -> Array:
    if values.dtype == ml_dtypes.bfloat16 or values.dtype == np.float16:
        return values.astype(np.float32)
    return values


def _same_specials(found: Array, expected: Array, finite: Array) -> bool:
    if finite.all():
        return bool(np.isfinite(found).all())
    return bool(np.array_equal(found[~finite], expected[~finite], equal_nan=True)) and bool(
        np.isfinite(found[finite]).all()
    )


def _unequal(found: Array, expected: Array) -> str | None:
    wrong = (found != expected).reshape(-1)
    return _at(int(np.argmax(wrong)), found, expected) if wrong.any() else None


def _at(index: int, found: Array, expected: Array) -> str:
    return (
        f"element {index} is {found.reshape(-1)[index]}, "
        f"the reference is {expected.reshape(-1)[index]}"
    )
