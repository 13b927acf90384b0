"""Which axes Resize changes, and to which sizes, where only a run knows sizes or scales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, shape_of
from relay_tune.frontend.onnx_import.open_sizes import axis_size, size_value
from relay_tune.frontend.onnx_import.operators.open_resize import OpenTarget
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import floor_divide, multiply
from relay_tune.ir.expr import Constant, Expr

LARGEST_DENOMINATOR = 1024
"""Of scales that are written as quotients of whole numbers."""


def targets_of_sizes(
    build: Builder, data: Expr, axes: Sequence[int], sizes: Expr
) -> Iterator[OpenTarget]:
    """The axes whose sizes change to those of a vector."""
    wanted = vector_dims(build, sizes, "the sizes")
    if len(wanted) != len(axes):
        raise ModelError(f"{len(wanted)} sizes are given for {len(axes)} axes.")
    for position, (axis, size) in enumerate(zip(axes, wanted, strict=True)):
        old = shape_of(data)[axis]
        if size == old and size != UNKNOWN:
            continue
        if isinstance(size, UnknownDim):
            count = _element(build, build.call("cast", sizes, dtype="int64"), position)
        else:
            count = size_value(build, size)
        scale = build.call(
            "divide", _wide(build, count), _wide(build, axis_size(build, data, axis))
        )
        yield OpenTarget(axis, size, count, scale)


def targets_of_scales(
    build: Builder, data: Expr, axes: Sequence[int], scales: Expr | Sequence[float]
) -> Iterator[OpenTarget]:
    """The axes whose sizes are multiplied: by numbers, or by those of a vector of the run."""
    numbers: Sequence[float | None]
    if isinstance(scales, Constant):
        numbers = [float(scale) for scale in scales.data.reshape(-1)]
    else:
        numbers = [None] * len(axes) if isinstance(scales, Expr) else scales
    if len(numbers) != len(axes):
        raise ModelError(f"{len(numbers)} scales are given for {len(axes)} axes.")
    for position, (axis, number) in enumerate(zip(axes, numbers, strict=True)):
        if number == 1:
            continue
        if number is not None and number <= 0:
            raise ModelError(f"the scale {number} of axis {axis} is not a positive number.")
        size = UNKNOWN if number is None else _scaled(shape_of(data)[axis], number)
        if number is not None:
            scale: Expr = build.constant(number, "float32")
        else:
            assert isinstance(scales, Expr)  # numbers are known of all others
            scale = _element(build, scales, position)
        old = axis_size(build, data, axis)
        product = build.call("multiply", build.call("cast", old, dtype="float32"), scale)
        count = build.call("cast", build.call("floor", product), dtype="int64")
        if not isinstance(size, UnknownDim):
            count = size_value(build, size)
        repeats = int(number) if number is not None and number == int(number) else None
        yield OpenTarget(axis, size, count, _wide(build, scale), repeats)


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
