"""Image sampling of ONNX, and the grids for it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    known_integers,
    rank_of,
    shape_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import with_size
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr

_METHODS = {
    "nearest": "nearest",
    "linear": "bilinear",
    "bilinear": "bilinear",
    "cubic": "bicubic",
    "bicubic": "bicubic",
}


def translate_grid_sample(node: OnnxNode, build: Builder) -> Expr:
    """The image at places that the grid [batch, positions ..., coordinates] names."""
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
    _, _, *sizes = known_integers(node.input(1), "the input size")
    count = len(sizes)
    if count not in (2, 3) or rank_of(theta) != 3 or shape_of(theta)[1:] != (count, count + 1):
        raise ModelError("theta must be [batch, 2, 3] for 2 spatial axes, [batch, 3, 4] for 3.")
    check_size((count + 1) * prod(sizes), dtype_of(theta))
    positions = [_coordinates(size, node.flag("align_corners", 0)) for size in sizes]
    grid = np.meshgrid(*positions, indexing="ij")
    rows = np.stack([*(axis.reshape(-1) for axis in reversed(grid)), np.ones(prod(sizes))])
    moved = build.call("nn.matmul", theta, build.constant(rows, dtype_of(theta)))
    moved = build.call("transpose", moved, axes=(0, 2, 1))
    return build.call("reshape", moved, newshape=(-1, *sizes, count))


def _coordinates(size: int, align_corners: bool) -> np.ndarray:
    """Where the elements of an axis lie: -1 and 1 are its ends, or its outermost elements."""
    if align_corners:
        return np.linspace(-1, 1, size)
    return (2 * np.arange(size) + 1) / size - 1


IMAGES: Mapping[str, Translator] = {
    "AffineGrid": translate_affine_grid,
    "GridSample": translate_grid_sample,
}
