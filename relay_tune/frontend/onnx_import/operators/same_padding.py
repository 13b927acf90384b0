"""The padding of `auto_pad` SAME where it depends on sizes that only a run knows.

n elements, windows of 3, steps of 2:   (ceil(n / 2) - 1) * 2 + 3 - n elements are added
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import size_value
from relay_tune.frontend.onnx_import.operators.open_pad import padded_axis
from relay_tune.frontend.onnx_import.operators.windows import checked_numbers, spatial_rank
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, positive_part, subtract
from relay_tune.ir.expr import Expr


def with_same_padding(
    node: OnnxNode, build: Builder, kernel: Sequence[int], value: Expr
) -> OnnxNode:
    """The node with its data padded by `value`, and without `auto_pad`.

    It is the node itself where padding is explicit, or the same for all sizes.
    """
    data = node.input(0)
    rank = spatial_rank(rank_of(data))
    mode = node.text("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return node
    kernel = checked_numbers(kernel, rank, "kernel_shape", 1)
    strides = checked_numbers(node.integers("strides", (1,) * rank), rank, "strides", 1)
    dilations = checked_numbers(node.integers("dilations", (1,) * rank), rank, "dilations", 1)
    if not _has_open_padding(data, strides, kernel):
        return node
    for axis, (count, step, spread) in enumerate(zip(kernel, strides, dilations, strict=True)):
        before, after = _widths(shape_of(data)[axis + 2], step, (count - 1) * spread + 1, mode)
        if (before, after) != (0, 0):
            widths = ((before, size_value(build, before)), (after, size_value(build, after)))
            data = padded_axis(build, data, axis + 2, widths, "constant", value)
    kept = {name: a for name, a in node.attributes.items() if name not in ("auto_pad", "pads")}
    return replace(node, inputs=(data, *node.inputs[1:]), attributes=kept)


def _has_open_padding(data: Expr, strides: Sequence[int], kernel: Sequence[int]) -> bool:
    """Whether the padding depends on sizes that only a run knows."""
    axes = zip(shape_of(data)[2:], strides, kernel, strict=True)
    return any(not isinstance(dim, int) and step > 1 and count > 1 for dim, step, count in axes)


def _widths(dim: Dim, step: int, span: int, mode: str) -> tuple[Dim, Dim]:
    """Padding before and behind an axis; an odd element goes to the end with SAME_UPPER."""
    if isinstance(dim, UnknownDim):
        static_dim(dim)
    last = multiply(add(floor_divide(add(dim, step - 1), step), -1), step)
    total = positive_part(subtract(add(last, span), dim))
    small, large = floor_divide(total, 2), subtract(total, floor_divide(total, 2))
    return (small, large) if mode == "SAME_UPPER" else (large, small)
