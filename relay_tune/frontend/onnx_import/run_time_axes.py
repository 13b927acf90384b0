"""Axes that only a run knows: their sizes, and tensors seen with the axes at known positions.

x: (2, 3, 4), axes: [0, 2] at run time
seen as a matrix (3, 8), whose rows are what is reduced
"""

from __future__ import annotations

import math

import numpy as np

from relay_tune.errors import FIX_SIZES, ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of
from relay_tune.ir.dim import shape_text
from relay_tune.ir.expr import Expr


def sizes_of(build: Builder, data: Expr) -> Expr:
    """The sizes of a tensor, an int64 vector with one element for each axis."""
    shape = shape_of(data)
    numbers = [dim for dim in shape if isinstance(dim, int)]
    if len(numbers) == len(shape):
        return build.constant(np.array(numbers, np.int64))
    return build.call("shape_of", data, dtype="int64")


def int64_vector(build: Builder, values: Expr) -> Expr:
    """A scalar or vector of integers as an int64 vector; raises ModelError for more axes."""
    if rank_of(values) > 1:
        raise ModelError(f"a vector of integers is expected, but it has {rank_of(values)} axes.")
    if dtype_of(values) != "int64":
        values = build.call("cast", values, dtype="int64")
    return values if rank_of(values) == 1 else build.call("expand_dims", values, axis=0)


def vector_length(values: Expr) -> int:
    """How many elements a vector or scalar has; raises ModelError if that is not known."""
    shape = shape_of(values)
    if len(shape) > 1 or not all(isinstance(dim, int) for dim in shape):
        raise ModelError(
            f"the rank of the result depends on the length of a vector of shape "
            f"{shape_text(shape)}.",
            remedy=f"{FIX_SIZES} Or give the values as constants.",
        )
    return math.prod(dim for dim in shape if isinstance(dim, int))


def selected_axes(build: Builder, axes: Expr, rank: int) -> Expr:
    """Which of `rank` axes the vector `axes` names, bool; negative ones count from the end."""
    return build.call("any", axis_matrix(build, axes, rank), axis=(0,))


def axis_matrix(build: Builder, axes: Expr, rank: int) -> Expr:
    """Which of `rank` axes (columns) each element of `axes` (rows) names, bool.

    The run ends in an error at an axis that there is not.
    """
    numbers = _numbers(build, rank)
    from_front = build.call("take", numbers, int64_vector(build, axes), axis=0, mode="raise")
    return build.call("equal", build.call("expand_dims", from_front, axis=1), numbers)


def checked_below(build: Builder, values: Expr, bound: Expr) -> Expr:
    """Integers as int64; the run ends in an error where one is not in [0, bound).

    They are read from a vector that has as many elements as the bound, an int64 scalar, says.
    """
    wide = values if dtype_of(values) == "int64" else build.call("cast", values, dtype="int64")
    is_negative = build.call("less", wide, build.constant(0))
    index = build.call("where", is_negative, bound, wide)
    numbers = range_at_run_time(build, build.constant(0), bound)
    return build.call("take", numbers, index, axis=0, mode="raise")


def sizes_with_ones(build: Builder, sizes: Expr, selected: Expr) -> Expr:
    """The sizes, with 1 for the selected axes."""
    return build.call("where", selected, build.like(1, sizes), sizes)


def other_sizes(build: Builder, sizes: Expr, selected: Expr, count: int) -> Expr:
    """The sizes of the first `count` axes that are not selected."""
    indices = build.call(
        "strided_slice", _selected_last(build, selected), begin=(0,), end=(count,), strides=(1,)
    )
    return build.call("take", sizes, indices, axis=0)


def sizes_between_ones(build: Builder, sizes: Expr, selected: Expr) -> Expr:
    """The sizes in order where an axis is not selected, and 1 where it is."""
    ones = build.constant(np.ones(vector_length(selected), np.int64))
    if vector_length(sizes) == 0:
        return ones
    kept = build.call("cast", build.call("logical_not", selected), dtype="int64")
    indices = build.call("cumsum", kept, axis=0, exclusive=True)
    last = build.constant(vector_length(sizes) - 1)
    found = build.call("take", sizes, build.call("minimum", indices, last), axis=0)
    return build.call("where", selected, ones, found)


def range_at_run_time(build: Builder, begin: Expr, end: Expr) -> Expr:
    """begin, begin + 1, ... below end, int64."""
    return build.call("dyn.arange", begin, end, build.constant(1), dtype="int64")


def reshaped_at_run_time(build: Builder, data: Expr, sizes: Expr) -> Expr:
    """`data` with the sizes that a vector has; the run ends in an error if they do not fit."""
    return build.call("dyn.reshape", data, sizes, allowzero=True)


def selected_as_columns(build: Builder, data: Expr, selected: Expr) -> Expr:
    """A matrix: a row for each element of the other axes, which holds the selected axes."""
    sizes = sizes_of(build, data)
    moved = _transposed(build, data, sizes, _selected_last(build, selected))
    rows = build.call("prod", sizes_with_ones(build, sizes, selected), axis=(0,), keepdims=True)
    others = build.call("logical_not", selected)
    columns = build.call("prod", sizes_with_ones(build, sizes, others), axis=(0,), keepdims=True)
    shape = build.call("concatenate", build.tuple_of((rows, columns)), axis=0)
    return reshaped_at_run_time(build, moved, shape)


def axis_in_the_middle(build: Builder, data: Expr, axis: Expr) -> Expr:
    """Three axes: all before an axis, the axis, all behind it."""
    sizes, rank = sizes_of(build, data), rank_of(data)
    selected = selected_axes(build, axis, rank)
    seen = build.call("cumsum", build.call("cast", selected, dtype="int64"), axis=0)
    at_or_behind = build.call("cast", seen, dtype="bool")
    behind = build.call("logical_and", at_or_behind, build.call("logical_not", selected))
    parts = (build.call("logical_not", at_or_behind), selected, behind)
    counts = [
        build.call(
            "prod",
            sizes_with_ones(build, sizes, build.call("logical_not", part)),
            axis=(0,),
            keepdims=True,
        )
        for part in parts
    ]
    return reshaped_at_run_time(
        build, data, build.call("concatenate", build.tuple_of(counts), axis=0)
    )


def _numbers(build: Builder, count: int) -> Expr:
    return build.constant(np.arange(count, dtype=np.int64))


def _selected_last(build: Builder, selected: Expr) -> Expr:
    """The axes in order, the selected ones behind the others."""
    rank = vector_length(selected)
    late = build.call("multiply", build.call("cast", selected, dtype="int64"), build.constant(rank))
    keys = build.call("add", late, _numbers(build, rank))
    return build.call("argsort", keys, axis=0, is_ascend=True, dtype="int64")


def _transposed(build: Builder, data: Expr, sizes: Expr, order: Expr) -> Expr:
    """The elements, as a vector, of the tensor whose axes are in another order."""
    index = build.call("expand_dims", _positions(build, data, sizes), axis=1)
    new_sizes = build.call("take", sizes, order, axis=0)
    digits = build.call("floor_divide", index, _strides(build, new_sizes))
    digits = build.call("floor_mod", digits, new_sizes)
    strides = build.call("take", _strides(build, sizes), order, axis=0)
    sources = build.call("sum", build.call("multiply", digits, strides), axis=(1,))
    return build.call("take", build.call("reshape", data, newshape=(-1,)), sources, axis=0)


def _positions(build: Builder, data: Expr, sizes: Expr) -> Expr:
    """0, 1, ... for each element."""
    shape = [dim for dim in shape_of(data) if isinstance(dim, int)]
    if len(shape) == rank_of(data):
        return build.call("arange", start=0, stop=math.prod(shape), step=1, dtype="int64")
    count = build.call("prod", sizes, axis=(0,))
    return range_at_run_time(build, build.constant(0), count)


def _strides(build: Builder, sizes: Expr) -> Expr:
    """How far apart neighbours along each axis are, in row-major order."""
    backwards = build.call("reverse", sizes, axis=0)
    return build.call("reverse", build.call("cumprod", backwards, axis=0, exclusive=True), axis=0)
