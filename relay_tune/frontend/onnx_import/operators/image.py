"""Image sampling of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of
from relay_tune.frontend.onnx_import.node import OnnxNode
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


IMAGES: Mapping[str, Translator] = {"GridSample": translate_grid_sample}
