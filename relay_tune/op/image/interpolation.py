"""Interpolation along one axis: computation and numpy form.

Each element of the resized axis is a weighted sum of 1 (nearest), 2 (linear) or 4 (cubic)
neighbours on the original axis; images are resized one axis after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.errors import InputError
from relay_tune.op.elements import Array, number
from relay_tune.op.image.coordinates import Position
from relay_tune.op.layout_indices import compute_elements, quotient, remainder
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast, index_value, literal, select
from relay_tune.tensor.size import is_symbolic, surely_less

TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
"""Distances of the neighbours from the element at or before the position."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """How one axis is interpolated.

    Attributes:
        method: nearest, linear or cubic.
        position: positions on the original axis; for `nearest` their floor is the neighbour.
        size: elements of the original axis.
        output: elements of the resized axis.
        cubic_alpha: the coefficient of cubic convolution (Keys, 1981), there called a.
        exclude_outside: whether neighbours outside have weight 0 instead of repeating the edge.
        outside_value: what positions outside of the original show; None: they show the edge.
    """

    method: str
    position: Position
    size: int
    output: int
    cubic_alpha: float = -0.5
    exclude_outside: bool = False
    outside_value: float | None = None

    @property
    def is_copy(self) -> bool:
        """Whether every element stays where it is."""
        return self.size == self.output and self.position == Position(1, 0, 1)


def method_name(method: str) -> str:
    """The name of a method in this module, for any of its names; InputError if unknown."""
    for name in TAPS:
        if method in (name, f"{name}_neighbor", f"bi{name}", f"tri{name}"):
            return name
    raise InputError(
        f'Interpolation method "{method}" is unknown.', remedy=f"Use one of {', '.join(TAPS)}."
    )


def interpolate(data: Tensor, axis: int, how: Interpolation, dtype: str) -> Tensor:
    """`data`, converted to `dtype`, with one axis interpolated."""
    shape = (*data.shape[:axis], how.output, *data.shape[axis + 1 :])

    def element(*axes: Scalar) -> Scalar:
        numerator = axes[axis] * _factor(how.position.slope) + how.position.offset
        base = quotient(numerator, how.position.divisor)
        values = [
            cast(data[(*axes[:axis], _clamped(base, tap, how), *axes[axis + 1 :])], dtype)
            for tap in TAPS[how.method]
        ]
        value = values[0]
        if how.method != "nearest":
            share = cast(remainder(numerator, how.position.divisor), dtype)
            value = _weighted_sum(values, base, _divided(share, how.position.divisor), how)
        return _unless_outside(value, numerator, how)

    return compute_elements("resized", shape, element)


def _factor(slope: int) -> Scalar | int:
    """A slope; one that may be 0 at some open sizes as an expression, which loops do not split."""
    if is_symbolic(slope) and not surely_less(0, slope):
        return binary("max", index_value(slope), 0)
    return slope


def _divided(value: Scalar, divisor: int) -> Scalar:
    if is_symbolic(divisor):
        return value / cast(index_value(divisor), value.dtype)
    return value * (1.0 / divisor)


def _clamped(base: Scalar, tap: int, how: Interpolation) -> Scalar:
    """The neighbour at distance `tap`, or the edge; bounds that always hold are left out."""
    ends = (0, how.output - 1)
    index = base + tap
    if not all(how.position.is_less(how.size - tap, end) for end in ends):
        index = binary("min", index, how.size - 1)
    is_inside = all(how.position.is_at_least(-tap, end) for end in ends)
    return index if is_inside else binary("max", index, 0)


def _weighted_sum(values: list[Scalar], base: Scalar, share: Scalar, how: Interpolation) -> Scalar:
    weights = neighbour_weights(share, how.method, how.cubic_alpha)
    if how.exclude_outside and how.method == "cubic":
        inside = [
            binary("and", binary("ge", base + tap, 0), binary("lt", base + tap, how.size))
            for tap in TAPS[how.method]
        ]
        weights = [
            select(condition, weight, literal(0.0, share.dtype))
            for condition, weight in zip(inside, weights, strict=True)
        ]
        values = [value / _total(weights) for value in values]
    return _total([value * weight for value, weight in zip(values, weights, strict=True)])


def _total(terms: Sequence[Scalar]) -> Scalar:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def neighbour_weights(share: Any, method: str, alpha: float) -> list[Any]:
    """The weights of the neighbours, from the position's share of the way to the next element.

    Cubic weights are the convolution kernel of Keys, "Cubic convolution interpolation for digital
    image processing" (1981), equation 4 with free coefficient, at distances 1+t, t, 1-t, 2-t.
    """
    if method == "linear":
        return [1.0 - share, share]
    near, far = share, 1.0 - share
    return [
        _outer_weight(near + 1.0, alpha),
        _inner_weight(near, alpha),
        _inner_weight(far, alpha),
        _outer_weight(far + 1.0, alpha),
    ]


def _inner_weight(distance: Any, alpha: float) -> Any:
    return (distance * (alpha + 2) - (alpha + 3)) * distance * distance + 1.0


def _outer_weight(distance: Any, alpha: float) -> Any:
    return ((distance * alpha - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha


def _unless_outside(value: Scalar, numerator: Scalar, how: Interpolation) -> Scalar:
    """`value`, or what is shown outside of the original."""
    if how.outside_value is None:
        return value
    last = (how.size - 1) * how.position.divisor
    inside = binary("and", binary("ge", numerator, 0), binary("le", numerator, last))
    border = number(how.outside_value, value.dtype)
    return select(inside, value, border)


def interpolate_array(data: Array, axis: int, how: Interpolation) -> Array:
    """numpy form of `interpolate`."""
    numerator = np.arange(how.output) * how.position.slope + how.position.offset
    base = numerator // how.position.divisor
    share = (numerator % how.position.divisor / how.position.divisor).astype(data.dtype)
    taps = np.array(TAPS[how.method])[:, None] + base
    weights = np.ones((1, how.output), data.dtype)
    if how.method != "nearest":
        weights = np.stack(neighbour_weights(share, how.method, how.cubic_alpha)).astype(data.dtype)
    if how.exclude_outside and how.method == "cubic":
        weights = np.where((taps >= 0) & (taps < how.size), weights, 0)
        weights = weights / weights.sum(axis=0)
    lined_up = np.moveaxis(data, axis, -1)
    neighbours = np.take(lined_up, np.clip(taps, 0, how.size - 1), axis=-1)
    result = (neighbours * weights.astype(data.dtype)).sum(axis=-2, dtype=data.dtype)
    if how.outside_value is not None:
        inside = (numerator >= 0) & (numerator <= (how.size - 1) * how.position.divisor)
        result = np.where(inside, result, np.asarray(how.outside_value, data.dtype))
    return np.moveaxis(result, -1, axis)
