"""Values of programs, seen as the arrays of floats in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from relay_tune.runtime.interpreter.values import ConstructorValue


def with_floats(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """A value with its arrays of floats changed."""
    match value:
        case tuple():
            return tuple(with_floats(part, change) for part in value)
        case ConstructorValue():
            return replace(value, fields=tuple(with_floats(p, change) for p in value.fields))
        case _:
            array = np.asarray(value)
            return np.asarray(change(array)) if array.dtype.kind == "f" else value


def floats_of(value: Any) -> list[np.ndarray]:
    """The arrays of floats in a value."""
    match value:
        case tuple():
            return [leaf for part in value for leaf in floats_of(part)]
        case ConstructorValue():
            return [leaf for part in value.fields for leaf in floats_of(part)]
        case _:
            array = np.asarray(value)
            return [array] if array.dtype.kind == "f" else []


def same_floats(found: Any, wanted: Any) -> bool:
    """Whether the floats of two values are equal but for rounding."""
    ones, others = floats_of(found), floats_of(wanted)
    return len(ones) == len(others) and all(
        one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True)
        for one, other in zip(ones, others, strict=True)
    )


def dot(left: Any, right: Any) -> float:
    """The sum of the products of the floats of two values of one shape."""
    pairs = zip(floats_of(left), floats_of(right), strict=True)
    return float(sum(np.sum(one * other) for one, other in pairs))


def both(value: Any) -> tuple[Any, Any]:
    """The two fields of a pair."""
    match value:
        case (first, second):
            return first, second
        case _:
            raise TypeError(f"a pair was wanted, not {value!r}")
