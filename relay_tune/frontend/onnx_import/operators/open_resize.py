"""Resizing along an axis whose old or new size only a run knows.

    coordinates = (0, 1, 2 ..) mapped to the old axis;  sum over taps: take(x, position) * weight

The positions and weights of `resize_taps` as expressions.
"""

from __future__ import annotations

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of
from relay_tune.frontend.onnx_import.open_sizes import axis_size, numbers_below
from relay_tune.frontend.onnx_import.operators.resize_taps import OLD_NEAREST, Sampling
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.types import is_float
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

_REPEATS = (
    ("asymmetric", "floor"),
    ("asymmetric", OLD_NEAREST),
    ("half_pixel", "round_prefer_floor"),
)
"""Coordinates and rounding that repeat each element where the scale is a whole number."""


@dataclass(frozen=True, slots=True)
class OpenTarget:
    """The new size of an axis: as a dimension, `?` where it is none, and as a number.

    `count` is an int64 scalar and `scale` a float64 one; `repeats` is the scale where that is a
    whole number that the model states. `region` is the part of the axis that is resized, where the
    coordinates are those of tf_crop_and_resize.
    """

    axis: int
    size: Dim
    count: Expr
    scale: Expr
    repeats: int | None = None
    region: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    """Arithmetic of tensors of one element type."""

    build: Builder

    def of(self, name: str, left: Expr, right: Expr | float) -> Expr:
        """An operator of two arguments, the second of which may be a number."""
        other = self.build.like(right, left) if isinstance(right, int | float) else right
        return self.build.call(name, left, other)

    def unary(self, name: str, value: Expr) -> Expr:
        """An operator of one argument."""
        return self.build.call(name, value)

    def limited(self, value: Expr, last: Expr) -> Expr:
        """A value between 0 and the last index."""
        return self.of("maximum", self.of("minimum", value, last), 0.0)


def resized_open(build: Builder, data: Expr, target: OpenTarget, sampling: Sampling) -> Expr:
    """`data` with another size along one axis."""
    kind = (sampling.coordinates, sampling.rounding)
    if sampling.mode == "nearest" and target.repeats is not None and kind in _REPEATS:
        return build.call("repeat", data, repeats=target.repeats, axis=target.axis)
    number = _Arithmetic(build)
    length = build.call("cast", axis_size(build, data, target.axis), dtype="float64")
    last = number.of("subtract", length, 1.0)
    coordinates = _coordinates(build, target, sampling.coordinates, length)
    if sampling.mode == "nearest":
        positions = number.limited(
            _nearest(number, coordinates, sampling.rounding, target.scale), last
        )
        positions = build.call("cast", positions, dtype="int64")
        result = build.call("take", data, positions, axis=target.axis)
    elif sampling.antialias:
        result = _antialiased(build, data, target, coordinates, sampling, last)
    else:
        result = _weighted_sum(build, data, target.axis, coordinates, sampling, last)
    if sampling.coordinates != "tf_crop_and_resize":
        return result
    is_outside = build.call(
        "logical_or", number.of("less", coordinates, 0.0), number.of("greater", coordinates, last)
    )
    outside = _along(build, is_outside, data, target.axis)
    return build.call("where", outside, build.like(sampling.extrapolation, data), result)


def _along(build: Builder, vector: Expr, data: Expr, axis: int) -> Expr:
    """A vector that is broadcast along an axis of `data`."""
    behind = rank_of(data) - axis - 1
    return build.call("expand_dims", vector, axis=1, num_newaxis=behind) if behind else vector


def _coordinates(build: Builder, target: OpenTarget, mode: str, length: Expr) -> Expr:
    """Where the elements of the result lie on the old axis, float64."""
    number = _Arithmetic(build)
    if isinstance(target.size, UnknownDim):
        numbers = range_at_run_time(build, build.constant(0, "int64"), target.count)
    else:
        numbers = numbers_below(build, target.size)
    x = build.call("cast", numbers, dtype="float64")
    size = build.call("cast", target.count, dtype="float64")
    centred = number.of("divide", number.of("add", x, 0.5), target.scale)
    match mode:
        case "half_pixel":
            return number.of("subtract", centred, 0.5)
        case "half_pixel_symmetric":
            ratio = number.of("divide", size, number.of("multiply", target.scale, length))
            rest = number.of("subtract", build.like(1.0, ratio), ratio)
            centre = number.of("multiply", number.of("multiply", length, 0.5), rest)
            return number.of("add", number.of("subtract", centred, 0.5), centre)
        case "pytorch_half_pixel":
            is_one = number.of("less_equal", size, 1.0)
            return build.call(
                "where", is_one, build.like(0.0, x), number.of("subtract", centred, 0.5)
            )
        case "align_corners":
            steps = number.of("multiply", target.scale, length)
            steps = number.of("maximum", number.of("subtract", steps, 1.0), 1.0)
            along = number.of("multiply", x, number.of("subtract", length, 1.0))
            return number.of("divide", along, steps)
        case "asymmetric":
            return number.of("divide", x, target.scale)
        case "tf_half_pixel_for_nn":
            return centred
        case "tf_crop_and_resize":
            return _cropped(number, target, x, size, number.of("subtract", length, 1.0))
        case _:
            raise ModelError(f"coordinate_transformation_mode has the unknown value {mode!r}.")


def _cropped(number: _Arithmetic, target: OpenTarget, x: Expr, size: Expr, last: Expr) -> Expr:
    """Places from the begin of the region to its end; its middle for a single one."""
    start, end = target.region
    steps = number.of("maximum", number.of("subtract", size, 1.0), 1.0)
    along = number.of("divide", number.of("multiply", x, end - start), steps)
    is_one = number.of("less_equal", size, 1.0)
    middle = number.build.like(0.5 * (start + end), x)
    share = number.build.call("where", is_one, middle, number.of("add", along, start))
    return number.of("multiply", share, last)


def _nearest(number: _Arithmetic, coordinates: Expr, rounding: str, scale: Expr) -> Expr:
    match rounding:
        case "round_prefer_floor":
            return number.unary("ceil", number.of("subtract", coordinates, 0.5))
        case "round_prefer_ceil":
            return number.unary("floor", number.of("add", coordinates, 0.5))
        case "floor" | "ceil":
            return number.unary(rounding, coordinates)
        case _ if rounding == OLD_NEAREST:
            shrinks = number.of("less", scale, 1.0)
            up, down = (number.unary(each, coordinates) for each in ("ceil", "floor"))
            return number.build.call("where", shrinks, up, down)
        case _:
            raise ModelError(f"nearest_mode has the unknown value {rounding!r}.")


def _weighted_sum(
    build: Builder, data: Expr, axis: int, coordinates: Expr, sampling: Sampling, last: Expr
) -> Expr:
    """Neighbours on both sides times a kernel of their distances."""
    radius = _radius(data, sampling)
    number = _Arithmetic(build)
    base = number.of("subtract", number.unary("ceil", coordinates), 1.0)
    within = number.of("subtract", coordinates, base)
    terms = []
    for offset in range(1 - radius, radius + 1):
        position = number.of("add", base, float(offset))
        distance = number.unary("abs", number.of("subtract", within, float(offset)))
        weight = _kernel(build, distance, radius, sampling.cubic)
        clipped = number.limited(position, last)
        if sampling.exclude_outside:
            is_inside = build.call("equal", position, clipped)
            weight = build.call("where", is_inside, weight, build.like(0.0, weight))
        terms.append((clipped, weight))
    total = _total(build, [weight for _, weight in terms]) if sampling.exclude_outside else None
    parts = []
    for position, weight in terms:
        weight = weight if total is None else number.of("divide", weight, total)
        taken = build.call("take", data, build.call("cast", position, dtype="int64"), axis=axis)
        column = build.call("cast", weight, dtype=dtype_of(data))
        parts.append(build.call("multiply", taken, _along(build, column, data, axis)))
    return _total(build, parts)


def _radius(data: Expr, sampling: Sampling) -> int:
    """How many neighbours on each side a kernel reaches."""
    radius = {"linear": 1, "cubic": 2}.get(sampling.mode)
    if radius is None or not is_float(dtype_of(data)):
        raise UnsupportedOperatorError(
            f"resizing of {dtype_of(data)} by {sampling.mode!r} is not supported."
        )
    return radius


def _antialiased(
    build: Builder,
    data: Expr,
    target: OpenTarget,
    coordinates: Expr,
    sampling: Sampling,
    last: Expr,
) -> Expr:
    """Neighbours times a kernel that is wider the smaller the result: as many as a run tells.

    The neighbours of all elements are a matrix: [elements of the result, neighbours].
    """
    radius, number = _radius(data, sampling), _Arithmetic(build)
    spread = number.of("minimum", target.scale, 1.0)
    reach = number.unary("floor", number.of("divide", build.like(-radius, spread), spread))
    first = build.call("cast", number.of("add", reach, 1.0), dtype="int64")
    end = build.call("subtract", build.constant(2, "int64"), first)
    offsets = build.call("cast", range_at_run_time(build, first, end), dtype="float64")
    base = number.of("subtract", number.unary("ceil", coordinates), 1.0)
    within, base = (
        build.call("expand_dims", each, axis=1)
        for each in (number.of("subtract", coordinates, base), base)
    )
    distances = number.unary("abs", number.of("subtract", offsets, within))
    weights = _kernel(build, number.of("multiply", distances, spread), radius, sampling.cubic)
    positions = number.of("add", base, offsets)
    clipped = number.limited(positions, last)
    if sampling.exclude_outside:
        is_inside = build.call("equal", positions, clipped)
        weights = build.call("where", is_inside, weights, build.like(0.0, weights))
    weights = number.of("divide", weights, build.call("sum", weights, axis=(1,), keepdims=True))
    weights = build.call("cast", weights, dtype=dtype_of(data))
    taken = build.call("take", data, build.call("cast", clipped, dtype="int64"), axis=target.axis)
    behind = rank_of(data) - target.axis - 1
    if behind:
        weights = build.call("expand_dims", weights, axis=2, num_newaxis=behind)
    return build.call("sum", build.call("multiply", taken, weights), axis=(target.axis + 1,))


def _total(build: Builder, parts: list[Expr]) -> Expr:
    total = parts[0]
    for part in parts[1:]:
        total = build.call("add", total, part)
    return total


def _kernel(build: Builder, distance: Expr, radius: int, a: float) -> Expr:
    """The linear kernel, or Keys' cubic one (see `resize_taps`)."""
    number = _Arithmetic(build)
    if radius == 1:
        rest = number.of("subtract", build.like(1.0, distance), distance)
        return number.of("maximum", rest, 0.0)
    near = _polynomial(number, distance, (a + 2, -(a + 3), 0.0, 1.0))
    far = _polynomial(number, distance, (a, -5 * a, 8 * a, -4 * a))
    outer = build.call("where", number.of("less", distance, 2.0), far, build.like(0.0, far))
    return build.call("where", number.of("less_equal", distance, 1.0), near, outer)


def _polynomial(number: _Arithmetic, x: Expr, coefficients: tuple[float, ...]) -> Expr:
    """Horner's scheme, the highest power first."""
    total = number.of("multiply", x, coefficients[0])
    for coefficient in coefficients[1:-1]:
        total = number.of("multiply", number.of("add", total, coefficient), x)
    return number.of("add", total, coefficients[-1])
