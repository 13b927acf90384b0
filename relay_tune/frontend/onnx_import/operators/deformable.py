"""Deformable convolutions: each element of a window is read beside its position.

Zhu et al., Deformable ConvNets v2, 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, static_shape
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.convolution import with_bias
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.matmul import matrix_product
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.window_elements import element_positions
from relay_tune.frontend.onnx_import.operators.windows import windows_of
from relay_tune.ir.expr import Expr


def translate_deform_conv(node: OnnxNode, build: Builder) -> Expr:
    """A convolution of what is read at offsets, times a mask, by bilinear interpolation."""
    data, weight, offset = node.input(0), node.input(1), node.input(2)
    if rank_of(data) != 4 or rank_of(weight) != 4:
        raise ModelError("expects images [batch, channels, height, width].")
    batch, channels, *sizes = static_shape(data)
    filters, per_group, *kernel = static_shape(weight)
    group, parts = node.integer("group", 1), node.integer("offset_group", 1)
    if group < 1 or parts < 1 or channels != per_group * group or channels % parts:
        raise ModelError(f"{channels} channels do not fit {group} and {parts} groups.")
    windows = windows_of(node, sizes, node.integers("kernel_shape", tuple(kernel)))
    coordinates, counts = element_positions(windows, sizes)
    elements, positions = kernel[0] * kernel[1], counts[0] * counts[1]
    moved = build.call("reshape", offset, newshape=(batch, parts, elements, 2, positions))
    axes = [
        build.call(
            "add",
            build.call("take", moved, build.constant(axis), axis=3),
            build.constant(coordinates[axis].T, dtype_of(data)),
        )
        for axis in (0, 1)
    ]
    values = _sampled(build, data, (axes[0], axes[1]), parts)
    mask = node.optional(4)
    if mask is not None:
        factor = build.call("reshape", mask, newshape=(batch, parts, elements, positions))
        values = build.call("multiply", values, factor)
    ordered = build.call("transpose", values, axes=(1, 2, 0, 3, 4))
    columns = build.call(
        "reshape", ordered, newshape=(batch, group, per_group * elements, positions)
    )
    matrix = build.call(
        "reshape", weight, newshape=(1, group, filters // group, per_group * elements)
    )
    product = matrix_product(build, matrix, columns)
    result = build.call("reshape", product, newshape=(batch, filters, *counts))
    return with_bias(build, result, node.optional(3))


def _sampled(build: Builder, data: Expr, axes: tuple[Expr, Expr], parts: int) -> Expr:
    """The images between their elements, 0 outside.

    Coordinates are [batch, parts, element, position], the result [channels of a part, batch, parts,
    element, position].
    """
    batch, channels, height, width = static_shape(data)
    split = build.call("reshape", data, newshape=(batch, parts, channels // parts, height * width))
    flat = build.call("transpose", split, axes=(2, 0, 1, 3))
    flat = build.call("reshape", flat, newshape=(channels // parts, batch * parts * height * width))
    first = np.arange(batch * parts).reshape(batch, parts, 1, 1) * height * width
    found = []
    for row, row_weight in _neighbours(build, axes[0], height):
        for column, column_weight in _neighbours(build, axes[1], width):
            index = build.call("add", scaled(build, row, width), column)
            index = build.call("add", index, build.constant(first))
            weight = build.call("multiply", row_weight, column_weight)
            found.append(build.call("multiply", build.call("take", flat, index, axis=1), weight))
    return reduce(lambda left, right: build.call("add", left, right), found)


def _neighbours(build: Builder, positions: Expr, size: int) -> list[tuple[Expr, Expr]]:
    """The elements around each position, and their weights, which are 0 outside."""
    low = build.call("floor", positions)
    share = build.call("subtract", positions, low)
    pairs = []
    for index, weight in (
        (low, build.call("subtract", build.like(1, share), share)),
        (shifted(build, low, 1), share),
    ):
        kept = build.call("maximum", index, build.like(0, index))
        kept = build.call("minimum", kept, build.like(size - 1, index))
        inside = build.call("equal", kept, index)
        pairs.append(
            (
                cast_to(build, kept, "int64"),
                build.call("where", inside, weight, build.like(0, weight)),
            )
        )
    return pairs


DEFORMABLE: Mapping[str, Translator] = {"DeformConv": translate_deform_conv}
