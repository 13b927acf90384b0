"""One of several elements, by a position that is an expression."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.tensor.expression import Scalar, binary, literal, select


def element_at(values: Sequence[Scalar], position: Scalar) -> Scalar:
    """The value at a position in 0 .. len(values) - 1, by a balanced tree of selects."""
    return _between(values, position, 0, len(values))


def _between(values: Sequence[Scalar], position: Scalar, low: int, high: int) -> Scalar:
    """The value at a position in low .. high - 1."""
    if high - low == 1:
        return values[low]
    middle = (low + high) // 2
    first = _between(values, position, low, middle)
    second = _between(values, position, middle, high)
    return select(binary("lt", position, literal(middle, position.dtype)), first, second)
