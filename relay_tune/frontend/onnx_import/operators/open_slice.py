"""Slices between positions that only a run knows.

x[:, : n // 2]    dyn.strided_slice(x, (0, 0), (b, n / 2), (1, 1)) of shape (b, n // 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of
from relay_tune.frontend.onnx_import.open_sizes import axis_size, size_value
from relay_tune.frontend.onnx_import.run_time_axes import axis_matrix, int64_vector
from relay_tune.frontend.onnx_import.symbolic_rules import (
    greatest,
    is_at_least_zero,
    is_less,
    least,
)
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.dim_arithmetic import add, floor_divide, subtract
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Expr

OPEN_END = 2**31 - 1
"""A bound that is this large is the end of any axis."""

Bounds = tuple[Dim, Dim, Dim]
"""Start, end, step."""


def part_of_axis(build: Builder, data: Expr, axis: int, bounds: tuple[Dim, Dim]) -> Expr:
    """The elements of an axis from one position to another, neither behind its end."""
    begin, end = bounds
    zero: Expr = build.constant(0, "int64")
    whole = [(zero, axis_size(build, data, a)) for a in range(rank_of(data))]
    whole[axis] = (size_value(build, begin), size_value(build, end))
    vectors = [
        build.call("stack", build.tuple_of(column), axis=0) for column in zip(*whole, strict=True)
    ]
    steps = build.filled((rank_of(data),), 1, "int64")
    shape = list(shape_of(data))
    shape[axis] = subtract(end, begin)
    return build.with_shape(build.call("dyn.strided_slice", data, *vectors, steps), shape)


def open_slice(
    build: Builder, data: Expr, vectors: Sequence[Expr], bounds: Mapping[int, Bounds]
) -> Expr:
    """A slice by vectors of starts, ends and steps of some axes, in the order of `bounds`.

    `bounds` are what is known of them by axis, `?` for what only a run knows.
    """
    axes = list(bounds)
    columns = []
    for vector, default in zip(vectors, (0, OPEN_END, 1), strict=True):
        wide = build.call("cast", vector, dtype="int64")
        columns.append(_for_all_axes(build, wide, axes, rank_of(data), default))
    shape = [
        _count(dim, bounds[axis]) if axis in bounds else dim
        for axis, dim in enumerate(shape_of(data))
    ]
    return build.with_shape(build.call("dyn.strided_slice", data, *columns), shape)


def slice_along(
    build: Builder, data: Expr, vectors: tuple[Expr, Expr, Expr | None], axes: Expr
) -> Expr:
    """A slice by vectors of starts, ends and steps of axes that only a run knows.

    Raises ModelError where the number of axes is not known.
    """
    rank = rank_of(data)
    names_axis = axis_matrix(build, axes, rank)
    selected = build.call("any", names_axis, axis=(0,))
    columns = []
    for vector, default in zip(vectors, (0, OPEN_END, 1), strict=True):
        whole: Expr = build.filled((rank,), default, "int64")
        if vector is not None:
            column = build.call("expand_dims", int64_vector(build, vector), axis=1)
            own = build.call("where", names_axis, column, build.constant(0, "int64"))
            whole = build.call("where", selected, build.call("sum", own, axis=(0,)), whole)
        columns.append(whole)
    return build.call("dyn.strided_slice", data, *columns)


def slice_from_front(build: Builder, data: Expr, vectors: tuple[Expr, Expr, Expr | None]) -> Expr:
    """A slice of the first axes, as many as the vectors of starts, ends and steps are long."""
    rank = rank_of(data)
    columns = []
    for vector, default in zip(vectors, (0, OPEN_END, 1), strict=True):
        rest: Expr = build.filled((rank,), default, "int64")
        if vector is not None:
            given = int64_vector(build, vector)
            rest = build.call("concatenate", build.tuple_of([given, rest]), axis=0)
        first = build.constant(list(range(rank)), "int64")
        columns.append(build.call("take", rest, first, axis=0))
    return build.call("dyn.strided_slice", data, *columns)


def _for_all_axes(
    build: Builder, vector: Expr, axes: Sequence[int], rank: int, default: int
) -> Expr:
    """A vector of numbers for some axes as one for all axes."""
    if axes == list(range(rank)):
        return vector
    longer = build.tuple_of([vector, build.constant([default], "int64")])
    order = [axes.index(axis) if axis in axes else len(axes) for axis in range(rank)]
    joined = build.call("concatenate", longer, axis=0)
    return build.call("take", joined, build.constant(order, "int64"), axis=0)


def _count(dim: Dim, bounds: Bounds) -> Dim:
    """How many elements a slice has; `?` where that depends on the run."""
    begin, end, step = bounds
    if not isinstance(step, int) or step < 1:
        return UNKNOWN
    first, last = _position(begin, dim), _position(end, dim)
    count = subtract(last, first)
    if count == UNKNOWN:
        return UNKNOWN
    if is_less(count, 1) == 1:
        return 0
    if not is_never_negative(count):
        return UNKNOWN
    return floor_divide(add(count, step - 1), step)


def _position(bound: Dim, dim: Dim) -> Dim:
    """A bound as a position from 0 to the end of an axis."""
    if isinstance(bound, int) and abs(bound) >= OPEN_END:
        return dim if bound > 0 else 0
    if is_never_negative(bound):
        return _within(bound, dim)
    if is_at_least_zero(subtract(-1, bound)):
        return _within(greatest(add(bound, dim), 0), dim, greater=add(bound, dim))
    return UNKNOWN


def _within(bound: Dim, dim: Dim, greater: Dim | None = None) -> Dim:
    """A bound of at least 0 that is limited by the size of the axis."""
    if bound == UNKNOWN and greater is not None and is_never_negative(greater):
        bound = greater
    if bound == UNKNOWN or dim == UNKNOWN:
        return UNKNOWN
    return bound if is_never_negative(subtract(dim, bound)) else least(bound, dim)
