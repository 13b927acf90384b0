"""Where the elements of a resized axis lie on the original one, in exact arithmetic.

The rules are those of the ONNX operator Resize. All of them are linear, so that a position is
(slope * x + offset) / divisor in integers; rounding is exact and nothing depends on float errors.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, lcm

from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.size import is_multiple, is_symbolic, surely_less

_LARGEST_DENOMINATOR = 1 << 20


@dataclass(frozen=True, slots=True)
class AxisResize:
    """One axis that is resized.

    Attributes:
        size: elements of the original axis.
        output: elements of the resized axis.
        scale: output elements for each original element; None: output / size.
        region: begin and end of the part that is shown, as shares of the original axis.
    """

    size: int
    output: int
    scale: Fraction | None = None
    region: tuple[float, float] = (0.0, 1.0)

    @property
    def output_by_size(self) -> tuple[int, int]:
        """The scale as two integers."""
        if self.scale is not None:
            return self.scale.numerator, self.scale.denominator
        if is_symbolic(self.size) and is_multiple(self.output, self.size):
            return self.output // self.size, 1
        return self.output, self.size


@dataclass(frozen=True, slots=True)
class Position:
    """The position (slope * x + offset) / divisor of resized element x on the original axis."""

    slope: int
    offset: int
    divisor: int

    def is_at_least(self, least: int, x: int) -> bool:
        """Whether the position of x, rounded down, is surely `least` or more."""
        return surely_less(least * self.divisor - 1, self.slope * x + self.offset)

    def is_less(self, bound: int, x: int) -> bool:
        """Whether the position of x, rounded down, is surely less than `bound`."""
        return surely_less(self.slope * x + self.offset, bound * self.divisor)

    def simplified(self) -> Position:
        """The same position with the smallest divisor; as it is where sizes are open."""
        if any(is_symbolic(number) for number in (self.slope, self.offset, self.divisor)):
            return self
        common = gcd(self.slope, self.offset, self.divisor)
        return Position(self.slope // common, self.offset // common, self.divisor // common)


FIRST = Position(0, 0, 1)
"""The first element, wherever one is."""


def exact(value: float) -> Fraction:
    """The simple fraction that a float stands for."""
    return Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)


def position_on(axis: AxisResize, mode: str) -> Position:
    """The positions of a coordinate transformation mode; InputError if there is no such mode."""
    if mode not in _MODES:
        raise InputError(
            f'Coordinate transformation mode "{mode}" is unknown.',
            remedy=f"Use one of {', '.join(sorted(_MODES))}.",
        )
    return _MODES[mode](axis).simplified()


def nearest(position: Position, rounding: str) -> Position:
    """The position whose floor is the element that `rounding` chooses; InputError if unknown."""
    slope, offset, divisor = position.slope, position.offset, position.divisor
    match rounding:
        case "floor":
            return position
        case "ceil":
            return Position(slope, offset + divisor - 1, divisor)
        case "round_prefer_floor":
            return Position(2 * slope, 2 * offset + divisor - 1, 2 * divisor)
        case "round" | "round_prefer_ceil":
            return Position(2 * slope, 2 * offset + divisor, 2 * divisor).simplified()
    raise InputError(
        f'Rounding method "{rounding}" is unknown.',
        remedy="Use floor, ceil, round, round_prefer_floor or round_prefer_ceil.",
    )


def _half_pixel(axis: AxisResize) -> Position:
    """Centres of elements correspond."""
    many, few = axis.output_by_size
    return Position(2 * few, few - many, 2 * many)


def _half_pixel_symmetric(axis: AxisResize) -> Position:
    """As half_pixel, where the middle stays the middle although the output size was rounded."""
    many, few = axis.output_by_size
    shift = axis.size * many - axis.output * few
    return Position(2 * few, few - many + shift, 2 * many)


def _pytorch_half_pixel(axis: AxisResize) -> Position:
    """As half_pixel, but a single element shows the first one."""
    return _half_pixel(axis) if axis.output > 1 else FIRST


def _align_corners(axis: AxisResize) -> Position:
    """The first and the last element stay where they are."""
    return Position(axis.size - 1, 0, axis.output - 1) if axis.output > 1 else FIRST


def _asymmetric(axis: AxisResize) -> Position:
    """Beginnings of elements correspond."""
    many, few = axis.output_by_size
    return Position(few, 0, many)


def _tf_half_pixel_for_nn(axis: AxisResize) -> Position:
    """Centres of resized elements fall on beginnings of original ones."""
    many, few = axis.output_by_size
    return Position(2 * few, few, 2 * many)


def _tf_crop_and_resize(axis: AxisResize) -> Position:
    """As align_corners, of a region."""
    begin, end = (exact(share) for share in axis.region)
    whole = lcm(begin.denominator, end.denominator)
    first, last = int(begin * whole) * (axis.size - 1), int(end * whole) * (axis.size - 1)
    if axis.output > 1:
        return Position(last - first, first * (axis.output - 1), whole * (axis.output - 1))
    return Position(0, first + last, 2 * whole)


_MODES: dict[str, Callable[[AxisResize], Position]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "tf_crop_and_resize": _tf_crop_and_resize,
}
