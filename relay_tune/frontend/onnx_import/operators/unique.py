"""Unique: elements or slices without repetition."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, checked_axis, rank_of, shape_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.reshape import flatten_to_matrix
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr

LARGEST_COMPARISON = 1 << 26
"""Elements of all pairs of slices together."""


def translate_unique(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Distinct values, where each occurs first, each element's index among them, and the counts."""
    data, ordered = node.input(0), node.flag("sorted", 1)
    if node.has("axis"):
        axis = checked_axis(node.integer("axis"), rank_of(data))
        keys = _ranks(build, data, axis)
    else:
        axis = 0
        data = keys = build.call("reshape", data, newshape=(-1,))
    found = build.call("unique", keys, is_sorted=ordered, return_counts=True)
    first, inverse, counts = (
        cast_to(build, build.item(found, position), "int64") for position in (1, 2, 4)
    )
    values = build.call("take", data, first, axis=axis)
    return [values, first, inverse, counts]


def _ranks(build: Builder, data: Expr, axis: int) -> Expr:
    """For each slice along an axis, how many are before it in lexicographic order."""
    order = (axis, *(other for other in range(rank_of(data)) if other != axis))
    rows = flatten_to_matrix(build, build.call("transpose", data, axes=order), 1)
    count, size = shape_of(rows)
    if size == 0:
        return build.call("sum", cast_to(build, rows, "int64"), axis=(1,))
    if isinstance(count, int) and isinstance(size, int):
        _check_comparison(count, size)
    left = build.call("expand_dims", rows, axis=1)
    right = build.call("expand_dims", rows, axis=0)
    differs = cast_to(build, build.call("not_equal", left, right), "int32")
    first = cast_to(build, build.call("argmax", differs, axis=(2,)), "int64")
    left = build.call("gather", rows, first, axis=1)
    right = build.call("transpose", left)  # the first difference of two is the same both ways
    before = cast_to(build, build.call("less", left, right), "int64")
    return build.call("sum", before, axis=(0,))


def _check_comparison(count: int, size: int) -> None:
    if count * count * size > LARGEST_COMPARISON:
        raise UnsupportedOperatorError(
            f"{count} slices of {size} elements are too many to compare."
        )


UNIQUES: Mapping[str, Translator] = {"Unique": translate_unique}
