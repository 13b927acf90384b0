"""Where the elements of a resized axis lie on the original one, in exact arithmetic.

The rules are those of the ONNX operator Resize. All of them are linear, so that a position is
(slope * x + offset) / divisor in integers; rounding is exact and nothing depends on float errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from relay_tune.errors import InputError

_LARGEST_DENOMINATOR = 1 << 20


@dataclass(frozen=True, slots=True)
class AxisResize:
    """One axis that is resized.

    Attributes:
        size: elements of the original axis.
        output: elements of the resized axis.
        scale: output elements for each original element.
        region: begin and end of the part that is shown, as shares of the original axis.
    """

    size: int
    output: int
    scale: Fraction
    region: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Position:
    """The position (slope * x + offset) / divisor of resized element x on the original axis."""

    slope: int
    offset: int
    divisor: int

    def floor(self, x: int) -> int:
        """The position rounded down."""
        return (self.slope * x + self.offset) // self.divisor

    def simplified(self) -> Position:
        """The same position with the smallest divisor."""
        common = gcd(self.slope, self.offset, self.divisor)
        return Position(self.slope // common, self.offset // common, self.divisor // common)


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
    slope, offset = _MODES[mode](axis)
    divisor = slope.denominator * offset.denominator
    position = Position(int(slope * divisor), int(offset * divisor), divisor)
    return position.simplified()


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


Line = tuple[Fraction, Fraction]
"""(slope, offset) of a linear function."""


def _half_pixel(axis: AxisResize) -> Line:
    """Centres of elements correspond."""
    return 1 / axis.scale, 1 / (2 * axis.scale) - Fraction(1, 2)


def _half_pixel_symmetric(axis: AxisResize) -> Line:
    """As half_pixel, where the middle stays the middle although the output size was rounded."""
    slope, offset = _half_pixel(axis)
    adjustment = Fraction(axis.output) / (axis.scale * axis.size)
    return slope, offset + Fraction(axis.size, 2) * (1 - adjustment)


def _pytorch_half_pixel(axis: AxisResize) -> Line:
    """As half_pixel, but a single element shows the first one."""
    return _half_pixel(axis) if axis.output > 1 else (Fraction(0), Fraction(0))


def _align_corners(axis: AxisResize) -> Line:
    """The first and the last element stay where they are."""
    if axis.output == 1:
        return Fraction(0), Fraction(0)
    return Fraction(axis.size - 1, axis.output - 1), Fraction(0)


def _asymmetric(axis: AxisResize) -> Line:
    """Beginnings of elements correspond."""
    return 1 / axis.scale, Fraction(0)


def _tf_half_pixel_for_nn(axis: AxisResize) -> Line:
    """Centres of resized elements fall on beginnings of original ones."""
    return 1 / axis.scale, 1 / (2 * axis.scale)


def _tf_crop_and_resize(axis: AxisResize) -> Line:
    """As align_corners, of a region."""
    begin, end = (exact(share) for share in axis.region)
    if axis.output == 1:
        return Fraction(0), (begin + end) / 2 * (axis.size - 1)
    return (end - begin) * (axis.size - 1) / (axis.output - 1), begin * (axis.size - 1)


_MODES: dict[str, Callable[[AxisResize], Line]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "tf_crop_and_resize": _tf_crop_and_resize,
}
