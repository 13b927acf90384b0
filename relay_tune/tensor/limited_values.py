"""Bounds of a value from minima and maxima with numbers."""

from __future__ import annotations

from math import inf

from relay_tune.tensor.expression import Binary, Literal, Scalar


def limits_of(value: Scalar) -> tuple[float, float]:
    """Numbers between which a value is known to lie, unless it is NaN; infinite if none are.

    >>> limits_of(binary("min", binary("max", x, 0.0), 255.0))
    (0.0, 255.0)
    """
    if not isinstance(value, Binary) or value.operation not in ("min", "max"):
        return -inf, inf
    for inner, bound in ((value.left, value.right), (value.right, value.left)):
        if isinstance(bound, Literal):
            low, high = limits_of(inner)
            number = float(bound.value)
            if value.operation == "min":
                return min(low, number), min(high, number)
            return max(low, number), max(high, number)
    return -inf, inf
