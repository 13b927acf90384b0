"""MaxRoiPool: regions of images, each as a grid of cells, and the largest element of each cell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size, positions
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.windows import checked_numbers
from relay_tune.frontend.onnx_import.run_time_axes import checked_below
from relay_tune.ir.expr import Expr


def translate_max_roi_pool(node: OnnxNode, build: Builder) -> Expr:
    """The largest element of each cell of regions [n, (image, x, y, x, y)]; 0 in empty cells.

    The maxima of rows come first, then those of columns:

        rows[r, c, i, x] = max(y in cell i of region r: image[r, c, y, x])
        result[r, c, i, j] = max(x in cell j of region r: rows[r, c, i, x])

    Girshick, Fast R-CNN, 2015.
    """
    data, regions = node.input(0), node.input(1)
    if rank_of(data) != 4 or rank_of(regions) != 2:
        raise ModelError("expects images [batch, channels, height, width] and regions [n, 5].")
    cells = checked_numbers(node.integers("pooled_shape"), 2, "pooled_shape", 1)
    scale = node.number("spatial_scale", 1.0)
    examples = checked_below(build, _column(build, regions, 0), axis_size(build, data, 0))
    found = build.call("take", data, examples, axis=0)
    lowest = build.like(-np.inf, data)
    for axis, count in ((2, cells[0]), (3, cells[1])):
        corners = [_column(build, regions, column) for column in (4 - axis, 6 - axis)]
        corners = [_rounded(build, scaled(build, corner, scale)) for corner in corners]
        inside = _inside(build, data, axis, corners, count)
        inside = build.call("expand_dims", inside, axis=1)  # the channels
        if axis == 2:
            inside = build.call("expand_dims", inside, axis=4)
        else:
            inside = build.call("expand_dims", inside, axis=2)
        found = build.call("expand_dims", found, axis=axis)
        found = build.call("max", build.call("where", inside, found, lowest), axis=(axis + 1,))
    is_empty = build.call("equal", found, lowest)
    return build.call("where", is_empty, build.like(0, data), found)


def _column(build: Builder, regions: Expr, column: int) -> Expr:
    return build.call("take", regions, build.constant(column), axis=1)


def _rounded(build: Builder, data: Expr) -> Expr:
    """The nearest integers; halves away from zero."""
    magnitude = build.call("floor", shifted(build, build.call("abs", data), 0.5))
    return build.call("multiply", build.call("sign", data), magnitude)


def _inside(build: Builder, data: Expr, axis: int, corners: list[Expr], count: int) -> Expr:
    """Whether each element of an axis is in each cell of each region, [region, cell, element]."""
    dtype = dtype_of(corners[0])
    begin, end = corners
    size = build.call("subtract", end, begin)
    size = build.call("maximum", shifted(build, size, 1), build.like(1, size))
    size = build.call("divide", size, build.like(count, size))
    size = build.call("expand_dims", size, axis=1)
    begin = build.call("expand_dims", begin, axis=1)
    number = build.constant(np.arange(count), dtype)
    after = build.constant(np.arange(count) + 1, dtype)
    first = build.call("add", begin, build.call("floor", build.call("multiply", number, size)))
    last = build.call("add", begin, build.call("ceil", build.call("multiply", after, size)))
    first, last = (build.call("expand_dims", each, axis=2) for each in (first, last))
    element = build.call("cast", positions(build, data, axis), dtype=dtype)
    behind = build.call("greater_equal", element, first)
    return build.call("logical_and", behind, build.call("less", element, last))


REGION_MAXIMA: Mapping[str, Translator] = {"MaxRoiPool": translate_max_roi_pool}
