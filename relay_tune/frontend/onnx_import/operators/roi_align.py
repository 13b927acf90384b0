"""Regions of images, each as a grid of cells, in which bilinear samples are pooled.

He et al., Mask R-CNN, 2017. Without a sampling_ratio each region has about one sample for a pixel:
as many as the largest region has are computed for all, and those that a region lacks count nothing.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.run_time_axes import checked_below, range_at_run_time
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Own:
    """The samples along an axis that each region has.

    Attributes:
        counts: how many, [regions, 1, 1].
        kept: which, bool [regions, 1, samples].
    """

    counts: Expr
    kept: Expr


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples of regions along an axis.

    Attributes:
        coordinates: where they lie, [regions, cells, samples].
        own: those that a region has; None: all.
    """

    coordinates: Expr
    own: _Own | None


def translate_roi_align(node: OnnxNode, build: Builder) -> Expr:
    """The pooled cells of each region, [regions, channels, cells, cells]."""
    data, regions, examples = node.input(0), node.input(1), node.input(2)
    if rank_of(data) != 4 or rank_of(regions) != 2:
        raise ModelError("expects images [batch, channels, height, width] and regions [n, 4].")
    mode, ratio = node.text("mode", "avg"), node.integer("sampling_ratio", 0)
    if mode not in ("avg", "max"):
        raise ModelError(f"attribute mode must be avg or max, not {mode!r}.")
    cells = (node.integer("output_height", 1), node.integer("output_width", 1))
    if min(cells) < 1:
        raise ModelError(f"a region cannot have {cells[0]} x {cells[1]} cells.")
    if ratio < 0:
        raise ModelError(f"attribute sampling_ratio must not be negative, but is {ratio}.")
    rows = _samples(node, build, regions, (1, 3), cells[0])
    columns = _samples(node, build, regions, (0, 2), cells[1])
    values = _values(build, data, examples, (rows, columns), mode)
    pool = _averages if mode == "avg" else _maxima
    pooled = pool(build, values, rows.own, columns.own)
    return build.call("transpose", pooled, axes=(1, 0, 2, 3))


def _values(
    build: Builder, data: Expr, examples: Expr, samples: tuple[_Samples, _Samples], mode: str
) -> Expr:
    """Bilinear samples, [channels, regions, cells, samples, cells, samples].

    For maxima, the greatest of the four weighted elements rather than their sum.
    """
    height, width = (axis_size(build, data, axis) for axis in (2, 3))
    image = build.call("transpose", data, axes=(1, 0, 2, 3))
    flat = build.call("reshape", image, newshape=(static_dim(shape_of(data)[1]), -1))
    area = build.call("multiply", height, width)
    image_of = checked_below(build, examples, axis_size(build, data, 0))
    start = build.call("multiply", image_of, area)
    start = build.call("expand_dims", start, axis=1, num_newaxis=4)
    parts = []
    for row, row_weight in _taps(build, samples[0], height, 3):
        for column, column_weight in _taps(build, samples[1], width, 1):
            index = build.call("add", build.call("multiply", row, width), column)
            found = build.call("take", flat, build.call("add", index, start), axis=1)
            weight = build.call("multiply", row_weight, column_weight)
            parts.append(build.call("multiply", found, weight))
    joined = "add" if mode == "avg" else "maximum"
    return reduce(lambda left, right: build.call(joined, left, right), parts)


def _averages(build: Builder, values: Expr, rows: _Own | None, columns: _Own | None) -> Expr:
    if rows is None or columns is None:
        return build.call("mean", values, axis=(3, 5))
    count = build.call("multiply", rows.counts, columns.counts)
    count = build.call("maximum", count, build.like(1, count))
    return build.call("divide", build.call("sum", values, axis=(3, 5)), count)


def _maxima(build: Builder, values: Expr, rows: _Own | None, columns: _Own | None) -> Expr:
    """The greatest sample of each cell, 0 where a region has none."""
    if rows is None or columns is None:
        return build.call("max", values, axis=(3, 5))
    kept = build.call(
        "logical_and",
        build.call("expand_dims", rows.kept, axis=3, num_newaxis=2),
        build.call("expand_dims", columns.kept, axis=1, num_newaxis=2),
    )
    lowest = build.like(-np.inf, values)
    greatest = build.call("max", build.call("where", kept, values, lowest), axis=(3, 5))
    count = build.call("multiply", rows.counts, columns.counts)
    is_none = build.call("equal", count, build.like(0, count))
    return build.call("where", is_none, build.like(0, greatest), greatest)


def _samples(
    node: OnnxNode, build: Builder, regions: Expr, corners: tuple[int, int], cells: int
) -> _Samples:
    """The samples in so many cells along an axis; `corners` are columns of the regions."""
    begin, size = (
        build.call("expand_dims", each, axis=1, num_newaxis=2)
        for each in _extent(node, build, regions, corners)
    )
    dtype, ratio = dtype_of(regions), node.integer("sampling_ratio", 0)
    if ratio:
        fractions = (np.arange(cells * ratio) + 0.5) / (cells * ratio)
        steps = build.constant(fractions.reshape(cells, ratio), dtype)
        return _Samples(build.call("add", begin, build.call("multiply", size, steps)), None)
    step = scaled(build, size, 1 / cells)
    counts = build.call("maximum", build.call("ceil", step), build.like(0, step))
    number = cast_to(build, _numbers_below_largest(build, counts), dtype)
    share = build.call(
        "divide", shifted(build, number, 0.5), build.call("maximum", counts, build.like(1, counts))
    )
    cell = build.constant(np.arange(cells).reshape(cells, 1), dtype)
    inside = build.call("multiply", step, build.call("add", cell, share))
    own = _Own(counts, build.call("less", number, counts))
    return _Samples(build.call("add", begin, inside), own)


def _numbers_below_largest(build: Builder, counts: Expr) -> Expr:
    """0, 1, ... below the largest count, and at least 0, int64."""
    flat = build.call("reshape", counts, newshape=(-1,))
    one = build.call(
        "full", build.constant(1, dtype_of(counts)), shape=(1,), dtype=dtype_of(counts)
    )
    most = build.call(
        "max", build.call("concatenate", build.tuple_of((flat, one)), axis=0), axis=(0,)
    )
    return range_at_run_time(build, build.constant(0), cast_to(build, most, "int64"))


def _extent(
    node: OnnxNode, build: Builder, regions: Expr, corners: tuple[int, int]
) -> tuple[Expr, Expr]:
    """Where regions begin along an axis, and how long they are, [regions] each."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    mode = node.text("coordinate_transformation_mode", default)
    if mode not in ("half_pixel", "output_half_pixel"):
        raise ModelError(
            f"attribute coordinate_transformation_mode has the unknown value {mode!r}."
        )
    scale = node.number("spatial_scale", 1.0)
    begin, end = (
        shifted(
            build,
            scaled(build, build.call("take", regions, build.constant(column), axis=1), scale),
            -0.5 if mode == "half_pixel" else 0,
        )
        for column in corners
    )
    size = build.call("subtract", end, begin)
    if mode == "output_half_pixel":
        size = build.call("maximum", size, build.like(1, size))
    return begin, size


def _taps(build: Builder, samples: _Samples, count: Expr, axis: int) -> list[tuple[Expr, Expr]]:
    """The two elements between which each sample lies, and their weights; 0 far outside.

    Two axes of size 1 are put before `axis`, where the samples of the other axis stand.
    """
    coordinates = samples.coordinates
    size = cast_to(build, count, dtype_of(coordinates))
    last = shifted(build, size, -1)
    inside = build.call(
        "logical_and",
        build.call("greater_equal", coordinates, build.like(-1, coordinates)),
        build.call("less_equal", coordinates, size),
    )
    if samples.own is not None:
        inside = build.call("logical_and", inside, samples.own.kept)
    coordinate = build.call("maximum", coordinates, build.like(0, coordinates))
    coordinate = build.call("minimum", coordinate, last)
    low = build.call("floor", coordinate)
    high_weight = build.call("subtract", coordinate, low)
    low_weight = build.call("subtract", build.like(1, coordinate), high_weight)
    high = build.call("minimum", shifted(build, low, 1), last)
    mask = cast_to(build, inside, dtype_of(coordinates))

    def spread(values: Expr) -> Expr:
        return build.call("expand_dims", values, axis=axis, num_newaxis=2)

    return [
        (
            spread(cast_to(build, index, "int64")),
            spread(build.call("multiply", weight, mask)),
        )
        for index, weight in ((low, low_weight), (high, high_weight))
    ]
