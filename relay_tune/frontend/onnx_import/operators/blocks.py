"""Blocks of pixels as channels, and back."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    Size,
    known_sizes,
    size_product,
    size_quotient,
)
from relay_tune.frontend.onnx_import.operators.reshape import reshape_to_known
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr


def translate_depth_to_space(node: OnnxNode, build: Builder) -> Expr:
    """Blocks of channels become blocks of pixels."""
    data = node.input(0)
    block, mode = node.integer("blocksize"), node.text("mode", "DCR")
    batch, channels, height, width = _four_sizes(build, data)
    if block < 1 or (isinstance(channels, int) and channels % (block * block)):
        raise ModelError(f"{channels} channels cannot be arranged in blocks of size {block}.")
    if mode not in ("DCR", "CRD"):
        raise ModelError(f"attribute mode must be DCR or CRD, not {mode!r}.")
    depth = size_quotient(build, channels, block * block)
    first = (block, block, depth) if mode == "DCR" else (depth, block, block)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    cut = reshape_to_known(build, data, (batch, *first, height, width))
    moved = build.call("transpose", cut, axes=order)
    new = (size_product(build, (height, block)), size_product(build, (width, block)))
    return reshape_to_known(build, moved, (batch, depth, *new))


def translate_space_to_depth(node: OnnxNode, build: Builder) -> Expr:
    """Blocks of pixels become blocks of channels."""
    data = node.input(0)
    block = node.integer("blocksize")
    batch, channels, height, width = _four_sizes(build, data)
    sizes = [dim for dim in (height, width) if isinstance(dim, int)]
    if block < 1 or any(size % block for size in sizes):
        raise ModelError(f"an image of {height} x {width} has no blocks of size {block}.")
    rows, columns = (size_quotient(build, size, block) for size in (height, width))
    cut = reshape_to_known(build, data, (batch, channels, rows, block, columns, block))
    order = (0, 3, 5, 1, 2, 4)
    if node.opset >= 28 and node.text("mode", "DCR") == "CRD":
        order = (0, 1, 3, 5, 2, 4)
    moved = build.call("transpose", cut, axes=order)
    return reshape_to_known(
        build, moved, (batch, size_product(build, (channels, block * block)), rows, columns)
    )


def _four_sizes(build: Builder, data: Expr) -> tuple[Size, Size, Size, Size]:
    """Batch, channels, height, width."""
    if rank_of(data) != 4:
        raise ModelError(f"expects 4 dimensions, but the input has {rank_of(data)}.")
    batch, channels, height, width = known_sizes(build, data)
    return batch, channels, height, width


BLOCKS: Mapping[str, Translator] = {
    "DepthToSpace": translate_depth_to_space,
    "SpaceToDepth": translate_space_to_depth,
}
