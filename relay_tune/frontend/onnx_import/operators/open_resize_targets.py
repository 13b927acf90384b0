"""Which axes Resize changes, and to which sizes, where only a run knows sizes or scales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, is_known, known_array, shape_of
from relay_tune.frontend.onnx_import.open_sizes import axis_size, size_value
from relay_tune.frontend.onnx_import.operators.open_resize import OpenTarget
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import floor_divide, multiply
from relay_tune.ir.expr import Expr

Region = tuple[float, float]
"""The part of an axis that is resized, as shares of it."""

WHOLE: Region = (0.0, 1.0)

LARGEST_DENOMINATOR = 1024
"""Of scales that are written as quotients of whole numbers."""


def targets_of_sizes(
    build: Builder, data: Expr, axes: Sequence[int], sizes: Expr, regions: Sequence[Region]
) -> Iterator[OpenTarget]:
    """The axes whose sizes change to those of a vector, or of which a region is taken."""
    for target, region in zip(_targets(build, data, axes, sizes), regions, strict=True):
        old = shape_of(data)[target.axis]
        if target.size != old or old == UNKNOWN or region != WHOLE:
            yield replace(target, region=region)


def targets_of_one_scale(
    build: Builder, data: Expr, axes: Sequence[int], sizes: Expr, choose: str
) -> Iterator[OpenTarget]:
    """The axes, all multiplied by the `minimum` or the `maximum` of the scales that sizes make."""
    scales = [each.scale for each in _targets(build, data, axes, sizes)]
    scale = reduce(lambda left, right: build.call(choose, left, right), scales)
    for axis in axes:
        product = build.call("multiply", _wide(build, axis_size(build, data, axis)), scale)
        rounded = build.call("floor", build.call("add", product, build.like(0.5, product)))
        yield OpenTarget(axis, UNKNOWN, build.call("cast", rounded, dtype="int64"), scale)


def _targets(build: Builder, data: Expr, axes: Sequence[int], sizes: Expr) -> Iterator[OpenTarget]:
    """All axes with the sizes of a vector."""
    wanted = vector_dims(build, sizes, "the sizes")
    if len(wanted) != len(axes):
        raise ModelError(f"{len(wanted)} sizes are given for {len(axes)} axes.")
    for position, (axis, size) in enumerate(zip(axes, wanted, strict=True)):
        if isinstance(size, UnknownDim):
            count = _element(build, build.call("cast", sizes, dtype="int64"), position)
        else:
            count = size_value(build, size)
        old = _wide(build, axis_size(build, data, axis))
        yield OpenTarget(axis, size, count, build.call("divide", _wide(build, count), old))


def targets_of_scales(
    build: Builder,
    data: Expr,
    axes: Sequence[int],
    scales: Expr | Sequence[float],
    regions: Sequence[Region],
) -> Iterator[OpenTarget]:
    """The axes whose sizes are multiplied: by numbers, or by those of a vector of the run."""
    numbers: Sequence[float | None]
    if isinstance(scales, Expr) and is_known(scales):
        numbers = [float(scale) for scale in known_array(scales, "the scales").reshape(-1)]
    else:
        numbers = [None] * len(axes) if isinstance(scales, Expr) else scales
    if len(numbers) != len(axes):
        raise ModelError(f"{len(numbers)} scales are given for {len(axes)} axes.")
    for position, (axis, number) in enumerate(zip(axes, numbers, strict=True)):
        if number is not None:
            if number != 1 or regions[position] != WHOLE:
                yield _scaled_target(build, data, axis, number, regions[position])
            continue
        assert isinstance(scales, Expr)  # numbers are known of all others
        scale = _element(build, scales, position)
        count = _scaled_count(build, data, axis, scale, regions[position])
        yield OpenTarget(axis, UNKNOWN, count, _wide(build, scale), region=regions[position])


def _scaled_target(
    build: Builder, data: Expr, axis: int, number: float, region: Region
) -> OpenTarget:
    """An axis that is multiplied by a number."""
    if number <= 0:
        raise ModelError(f"the scale {number} of axis {axis} is not a positive number.")
    scale = build.constant(number, "float32")
    size = _scaled(shape_of(data)[axis], number) if region == WHOLE else UNKNOWN
    if isinstance(size, UnknownDim):
        count = _scaled_count(build, data, axis, scale, region)
    else:
        count = size_value(build, size)
    repeats = int(number) if number == int(number) and region == WHOLE else None
    return OpenTarget(axis, size, count, _wide(build, scale), repeats, region)


def _scaled_count(build: Builder, data: Expr, axis: int, scale: Expr, region: Region) -> Expr:
    """The size of a region times a scale, rounded down, as an int64 scalar."""
    length = build.call("cast", axis_size(build, data, axis), dtype="float32")
    if region != WHOLE:
        length = build.call("multiply", length, build.like(region[1] - region[0], length))
    product = build.call("multiply", length, scale)
    return build.call("cast", build.call("floor", product), dtype="int64")


def _scaled(size: Dim, scale: float) -> Dim:
    """`size * scale` rounded down; `?` where the scale is no simple quotient."""
    exact = Fraction(scale)
    if exact.denominator > LARGEST_DENOMINATOR:
        return UNKNOWN
    return floor_divide(multiply(size, exact.numerator), exact.denominator)


def _element(build: Builder, vector: Expr, position: int) -> Expr:
    return build.call("take", vector, build.constant(position, "int64"), axis=0)


def _wide(build: Builder, value: Expr) -> Expr:
    return build.call("cast", value, dtype="float64")
