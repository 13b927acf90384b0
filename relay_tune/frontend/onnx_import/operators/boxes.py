"""Boxes in images: those that do not overlap, and what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.ir.expr import Expr


def translate_non_max_suppression(node: OnnxNode, build: Builder) -> Expr:
    """Rows (example, class, box) of the best boxes that do not overlap; as many as there are."""
    boxes, scores = node.input(0), node.input(1)
    if node.flag("center_point_box", 0):
        boxes = _corners(build, boxes)
    most = _limit(build, node.optional(2), 0, "int64")
    most = build.call("maximum", most, build.like(0, most))
    overlap = _limit(build, node.optional(3), 0, dtype_of(boxes))
    least = _limit(build, node.optional(4), -np.inf, dtype_of(boxes))
    name = "vision.all_class_non_max_suppression"
    found = build.call(name, boxes, scores, most, overlap, least)
    count = build.call("reshape", build.item(found, 1), newshape=())
    rows = range_at_run_time(build, build.constant(0), count)
    return build.call("take", build.item(found, 0), rows, axis=0)


def _limit(build: Builder, given: Expr | None, default: float, dtype: str) -> Expr:
    """A limit as a scalar."""
    if given is None:
        return build.constant(default, dtype)
    return cast_to(build, build.call("reshape", given, newshape=()), dtype)


def _corners(build: Builder, boxes: Expr) -> Expr:
    """Boxes [x, y, width, height] of their centres as [y, x, y, x] of two corners.

    As in onnxruntime, boxes of a width or a height below 0 overlap none.
    """
    x, y, width, height = (
        build.call("take", boxes, build.constant(position), axis=2) for position in range(4)
    )
    width, height = (build.call("maximum", each, build.like(0, each)) for each in (width, height))
    corners = []
    for sign in ("subtract", "add"):
        for centre, size in ((y, height), (x, width)):
            corners.append(build.call(sign, centre, scaled(build, size, 0.5)))
    return build.call("stack", build.tuple_of(corners), axis=2)


def translate_roi_align(node: OnnxNode, build: Builder) -> Expr:
    """Regions of images, each as a grid of cells, in which bilinear samples are averaged.

    He et al., Mask R-CNN, 2017.
    """
    data, regions, examples = node.input(0), node.input(1), node.input(2)
    if rank_of(data) != 4 or rank_of(regions) != 2:
        raise ModelError("expects images [batch, channels, height, width] and regions [n, 4].")
    samples = node.integer("sampling_ratio", 0)
    if samples < 1:
        raise UnsupportedOperatorError(
            "a sampling_ratio that depends on the regions is not supported."
        )
    mode = node.text("mode", "avg")
    if mode not in ("avg", "max"):
        raise ModelError(f"attribute mode must be avg or max, not {mode!r}.")
    cells = (node.integer("output_height", 1), node.integer("output_width", 1))
    channels = static_dim(shape_of(data)[1])
    height, width = (axis_size(build, data, axis) for axis in (2, 3))
    columns, rows = (
        _samples(node, build, regions, (position, position + 2), cells[1 - position] * samples)
        for position in (0, 1)
    )
    if min(cells) < 1:
        raise ModelError(f"a region cannot have {cells[0]} x {cells[1]} cells.")
    vertical = _taps(build, rows, height, (1, 2))
    horizontal = _taps(build, columns, width, (1, 1))
    image = build.call("transpose", data, axes=(1, 0, 2, 3))
    flat = build.call("reshape", image, newshape=(channels, -1))
    area = build.call("multiply", height, width)
    start = build.call("multiply", cast_to(build, examples, "int64"), area)
    start = build.call("expand_dims", start, axis=1, num_newaxis=2)
    parts = []
    for row, row_weight in vertical:
        for column, column_weight in horizontal:
            index = build.call("add", build.call("multiply", row, width), column)
            index = build.call("add", index, start)
            found = build.call("take", flat, index, axis=1)
            weight = build.call("multiply", row_weight, column_weight)
            parts.append(build.call("multiply", found, weight))
    joined = "add" if mode == "avg" else "maximum"
    values = reduce(lambda left, right: build.call(joined, left, right), parts)
    shape = (channels, -1, cells[0], samples, cells[1], samples)
    values = build.call("reshape", values, newshape=shape)
    pooled = build.call("mean" if mode == "avg" else "max", values, axis=(3, 5))
    return build.call("transpose", pooled, axes=(1, 0, 2, 3))


def _samples(
    node: OnnxNode, build: Builder, regions: Expr, positions: tuple[int, int], count: int
) -> Expr:
    """Where `count` samples of each region lie along an axis, [regions, count]."""
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
            scaled(build, build.call("take", regions, build.constant(position), axis=1), scale),
            -0.5 if mode == "half_pixel" else 0,
        )
        for position in positions
    )
    size = build.call("subtract", end, begin)
    if mode == "output_half_pixel":
        size = build.call("maximum", size, build.like(1, size))
    fractions = build.constant((np.arange(count) + 0.5) / count, dtype_of(regions))
    begin, size = (build.call("expand_dims", each, axis=1) for each in (begin, size))
    return build.call("add", begin, build.call("multiply", size, fractions))


def _taps(
    build: Builder, positions: Expr, count: Expr, new_axes: tuple[int, int]
) -> list[tuple[Expr, Expr]]:
    """The two elements between which each sample lies, and their weights; 0 far outside.

    `new_axes` says before which axis the results get how many more.
    """
    dtype = dtype_of(positions)
    size = cast_to(build, count, dtype)
    last = shifted(build, size, -1)
    inside = build.call(
        "logical_and",
        build.call("greater_equal", positions, build.like(-1, positions)),
        build.call("less_equal", positions, size),
    )
    position = build.call("maximum", positions, build.like(0, positions))
    position = build.call("minimum", position, last)
    low = build.call("floor", position)
    high_weight = build.call("subtract", position, low)
    low_weight = build.call("subtract", build.like(1, position), high_weight)
    high = build.call("minimum", shifted(build, low, 1), last)
    mask = cast_to(build, inside, dtype)
    axis = 1 if new_axes == (1, 1) else 2
    return [
        (
            build.call("expand_dims", cast_to(build, index, "int64"), axis=axis),
            build.call("expand_dims", build.call("multiply", weight, mask), axis=axis),
        )
        for index, weight in ((low, low_weight), (high, high_weight))
    ]


BOXES: Mapping[str, Translator] = {
    "NonMaxSuppression": translate_non_max_suppression,
    "RoiAlign": translate_roi_align,
}
