"""Padding of ONNX, in all its modes, as joins and selections of existing elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    checked_axes,
    known_integers,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.open_pad import Width, padded_axis
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.ir.dim import Dim, shape_text
from relay_tune.ir.expr import Expr

_LARGEST_PAD = 2**31


def translate_pad(node: OnnxNode, build: Builder) -> Expr:
    """Room around a tensor: a constant, its border, its mirror image or its repetition.

    Negative numbers cut elements off; what is put on the other side is found in what is left.
    """
    data, mode = node.input(0), node.text("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise ModelError(f"attribute mode has the unknown value {mode!r}.")
    pads, axes = _pads(node, build, rank_of(data))
    if not _is_fixed(data, pads, axes, mode):
        return _padded_openly(node, build, data, axes, mode, pads)
    widths = _widths([pad for pad in pads if isinstance(pad, int)], axes, rank_of(data))
    _check_cuts(data, widths)
    if mode == "constant":
        return _with_constant(node, build, data, widths)
    data = _cut(build, data, widths)
    for axis, (before, after) in enumerate(_added(widths)):
        if before or after:
            positions = _source_positions(static_dim(shape_of(data)[axis]), before, after, mode)
            data = build.call("take", data, build.constant(positions, "int64"), axis=axis)
    return data


def _added(widths: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple((max(0, before), max(0, after)) for before, after in widths)


def _check_cuts(data: Expr, widths: Sequence[tuple[int, int]]) -> None:
    for axis, (before, after) in enumerate(widths):
        size = shape_of(data)[axis]
        if isinstance(size, int) and size + before + after < 0:
            raise ModelError(f"more than the {size} elements of axis {axis} are cut off.")


def _is_fixed(data: Expr, pads: Sequence[Dim], axes: Sequence[int], mode: str) -> bool:
    """Whether the widths, and what has to be known of the sizes, are numbers."""
    numbers = [pad for pad in pads if isinstance(pad, int)]
    if len(numbers) < len(pads):
        return False
    if mode == "constant" and min(numbers, default=0) >= 0:
        return True
    return all(
        isinstance(shape_of(data)[axis], int)
        for index, axis in enumerate(axes)
        if pads[index] or pads[index + len(axes)]
    )


def _padded_openly(
    node: OnnxNode,
    build: Builder,
    data: Expr,
    axes: Sequence[int],
    mode: str,
    pads: Sequence[Dim],
) -> Expr:
    """Axis by axis, by indices that are computed."""
    value = _value(node, build, data)
    vector = None if node.opset < 11 else cast_to(build, node.input(1), "int64")

    def width(index: int) -> Width:
        pad = pads[index]
        if vector is None or isinstance(pad, int):
            return pad, build.constant(pad, "int64")
        return pad, build.call("take", vector, build.constant(index, "int64"), axis=0)

    for index, axis in enumerate(axes):
        widths = width(index), width(index + len(axes))
        if any(pad != 0 for pad, _ in widths):
            data = padded_axis(build, data, axis, widths, mode, value)
    return data


def _pads(node: OnnxNode, build: Builder, rank: int) -> tuple[tuple[Dim, ...], tuple[int, ...]]:
    """The widths before the axes and then those behind them, and the axes."""
    pads: tuple[Dim, ...]
    if node.opset < 11:
        pads = node.integers("pads")
    else:
        pads = vector_dims(build, node.input(1), "the input pads")
    axes = tuple(range(rank))
    given = node.optional(3) if node.opset >= 18 else None
    if given is not None:
        axes = checked_axes(known_integers(given, "the input axes"), rank)
    if len(pads) != 2 * len(axes) or any(
        isinstance(pad, int) and abs(pad) > _LARGEST_PAD for pad in pads
    ):
        raise ModelError(f"the pads {shape_text(pads)} do not fit {len(axes)} axes.")
    return pads, axes


def _widths(pads: Sequence[int], axes: Sequence[int], rank: int) -> list[tuple[int, int]]:
    widths = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        widths[axis] = (pads[index], pads[index + len(axes)])
    return widths


def _with_constant(
    node: OnnxNode, build: Builder, data: Expr, widths: Sequence[tuple[int, int]]
) -> Expr:
    value = _value(node, build, data)
    widths = [
        _replaced_wholly(size, *width) for size, width in zip(shape_of(data), widths, strict=True)
    ]
    data = _cut(build, data, widths)
    added = _added(widths)
    if not any(before or after for before, after in added):
        return data
    return build.call("nn.pad", data, value, pad_width=added, pad_mode="constant")


def _value(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    """The scalar that stands around the data."""
    if node.opset < 11:
        return build.like(node.number("value", 0.0), data)
    given = node.optional(2)
    if given is None:
        return build.like(0, data)
    return build.call("reshape", given, newshape=()) if rank_of(given) else given


def _replaced_wholly(size: Dim, before: int, after: int) -> tuple[int, int]:
    """The widths, where one side cuts more than there is: all is cut, and as much added."""
    if isinstance(size, int) and min(before, after) < -size:
        return size + before + after, -size
    return before, after


def _cut(build: Builder, data: Expr, widths: Sequence[tuple[int, int]]) -> Expr:
    """Without the elements that negative widths cut off."""
    for axis, (before, after) in enumerate(widths):
        if before >= 0 and after >= 0:
            continue
        size = static_dim(shape_of(data)[axis])
        begin, end = max(0, -before), size - max(0, -after)
        if end < begin:
            raise ModelError(
                f"axis {axis} of size {size} is cut beyond its end, which leaves nothing to repeat."
            )
        data = part(build, data, axis, begin, end)
    return data


def _source_positions(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """For each position of the result the position of the axis that it shows."""
    check_size(max(0, size + before + after), "int64")
    wanted = np.arange(-before, size + after)
    if size == 0:
        raise ModelError("an empty axis has no elements to repeat.")
    if mode == "edge":
        return np.clip(wanted, 0, size - 1)
    if mode == "wrap":
        return wanted % size
    period = max(2 * size - 2, 1)
    folded = wanted % period
    return np.where(folded < size, folded, period - folded)


PADS: Mapping[str, Translator] = {"Pad": translate_pad}
