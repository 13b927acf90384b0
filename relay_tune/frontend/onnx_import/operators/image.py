"""Image sampling of ONNX, and the grids for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    rank_of,
    shape_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    Size,
    positions_below,
    size_value,
    with_size,
)
from relay_tune.frontend.onnx_import.operators.activation import shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.symbolic import vector_sizes
from relay_tune.ir.expr import Expr

_METHODS = {
    "nearest": "nearest",
    "linear": "bilinear",
    "bilinear": "bilinear",
    "cubic": "bicubic",
    "bicubic": "bicubic",
}


def translate_grid_sample(node: OnnxNode, build: Builder) -> Expr:
    """The image at the coordinates in the grid [batch, positions ..., coordinates]."""
    data, grid = node.input(0), node.input(1)
    rank = rank_of(data)
    if rank not in (4, 5):
        raise UnsupportedOperatorError("only images with 2 or 3 spatial axes can be sampled.")
    if rank_of(grid) == rank:
        grid = with_size(build, grid, rank - 1, rank - 2)
    if rank_of(grid) != rank or shape_of(grid)[-1] != rank - 2:
        raise ModelError(f"the grid does not hold {rank - 2} coordinates for each position.")
    method = _METHODS.get(node.text("mode", "linear"))
    padding = node.text("padding_mode", "zeros")
    if method is None or padding not in ("zeros", "border", "reflection"):
        raise ModelError("attribute mode or padding_mode has an unknown value.")
    if rank == 5 and method == "bicubic":
        raise UnsupportedOperatorError("cubic sampling of 3 spatial axes is not supported.")
    return build.call(
        "image.grid_sample",
        data,
        build.call("transpose", grid, axes=(0, rank - 1, *range(1, rank - 1))),
        method="trilinear" if rank == 5 and method == "bilinear" else method,
        layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=padding,
        align_corners=node.flag("align_corners", 0),
    )


def translate_affine_grid(node: OnnxNode, build: Builder) -> Expr:
    """The positions [batch, spatial ..., coordinates] to which [batch, d, d + 1] matrices move.

    The body that the standard gives for it is wrong for a batch of one.
    """
    theta = node.input(0)
    sizes = vector_sizes(build, node.input(1), "the input size")[2:]
    count = len(sizes)
    if count not in (2, 3) or rank_of(theta) != 3:
        raise ModelError("theta must be [batch, 2, 3] for 2 spatial axes, [batch, 3, 4] for 3.")
    theta = with_size(build, with_size(build, theta, 1, count), 2, count + 1)
    if shape_of(theta)[1:] != (count, count + 1):
        raise ModelError("theta must be [batch, 2, 3] for 2 spatial axes, [batch, 3, 4] for 3.")
    check_size(prod(size for size in sizes if isinstance(size, int)), dtype_of(theta))
    terms = [_column(build, theta, count, count)]
    for axis, size in enumerate(sizes):
        position = _coordinates(build, size, dtype_of(theta), node.flag("align_corners", 0))
        position = build.call("expand_dims", position, axis=1, num_newaxis=count - axis)
        column = _column(build, theta, count - 1 - axis, count)
        terms.append(build.call("multiply", column, position))
    return reduce(lambda left, right: build.call("add", left, right), terms)


def _column(build: Builder, theta: Expr, index: int, count: int) -> Expr:
    """A column of each matrix, [batch, 1 ..., d]."""
    column = build.call("take", theta, build.constant(index), axis=2)
    return build.call("expand_dims", column, axis=1, num_newaxis=count)


def _coordinates(build: Builder, size: Size, dtype: str, align_corners: bool) -> Expr:
    """Where the elements of an axis lie: -1 and 1 are its ends, or its outermost elements.

    A single element lies in the middle, as torch has it.
    """
    position = cast_to(build, positions_below(build, size), "float64")
    steps = shifted(build, cast_to(build, size_value(build, size), "float64"), -1)
    from_middle = build.call("subtract", build.call("add", position, position), steps)
    least = build.constant(1.0, "float64")
    length = build.call("maximum", steps, least) if align_corners else shifted(build, steps, 1)
    return cast_to(build, build.call("divide", from_middle, length), dtype)


IMAGES: Mapping[str, Translator] = {
    "AffineGrid": translate_affine_grid,
    "GridSample": translate_grid_sample,
}
