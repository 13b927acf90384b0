"""Sorting and running sums of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axis,
    is_known,
    known_integer,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.reshape import reshape_like_source
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import axis_in_the_middle
from relay_tune.ir.expr import Expr


def translate_topk(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The k largest or smallest elements of an axis, in order, and their places."""
    data = node.input(0)
    count = node.integer("k") if node.opset < 10 else known_integer(node.input(1), "the input k")
    axis = checked_axis(node.integer("axis", -1), rank_of(data))
    size = static_dim(shape_of(data)[axis])
    if not 0 <= count <= size:
        raise ModelError(f"{count} elements are asked of an axis of size {size}.")
    ascending = node.opset >= 11 and not node.flag("largest", 1)
    if count == 0:
        return _nothing(build, data, axis)
    found = build.call(
        "topk", data, k=count, axis=axis, ret_type="both", is_ascend=ascending, dtype="int64"
    )
    return [build.item(found, 0), build.item(found, 1)]


def _nothing(build: Builder, data: Expr, axis: int) -> list[Expr | None]:
    """No elements, and no places."""
    empty = build.call("strided_slice", data, begin=(0,), end=(0,), strides=(1,), axes=(axis,))
    return [empty, build.call("cast", empty, dtype="int64")]


def _cumulative(name: str) -> Translator:
    def translate(node: OnnxNode, build: Builder) -> Expr:
        data, axis = node.input(0), node.input(1)
        if not is_known(axis):
            seen = axis_in_the_middle(build, data, axis)
            return reshape_like_source(build, accumulated(node, build, seen, 1), data)
        place = checked_axis(known_integer(axis, "the input axis"), rank_of(data))
        return accumulated(node, build, data, place)

    def accumulated(node: OnnxNode, build: Builder, data: Expr, axis: int) -> Expr:
        backwards = node.flag("reverse", 0)
        exclusive = node.flag("exclusive", 0)
        if backwards:
            data = build.call("reverse", data, axis=axis)
        result = build.call(name, data, axis=axis, exclusive=exclusive)
        return build.call("reverse", result, axis=axis) if backwards else result

    return translate


SORTING: Mapping[str, Translator] = {
    "TopK": translate_topk,
    "CumSum": _cumulative("cumsum"),
    "CumProd": _cumulative("cumprod"),
}
