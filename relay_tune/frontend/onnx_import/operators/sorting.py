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
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.open_slice import OPEN_END, Bounds, open_slice
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.reshape import reshape_like_source
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import axis_in_the_middle
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.frontend.onnx_import.symbolic_rules import is_equal
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Expr


def translate_topk(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The k largest or smallest elements of an axis, in order, and their indices."""
    data = node.input(0)
    axis = checked_axis(node.integer("axis", -1), rank_of(data))
    size = shape_of(data)[axis]
    count = _count(node, build)
    known = isinstance(count, int)
    if isinstance(count, int) and not 0 <= count <= (size if isinstance(size, int) else count):
        raise ModelError(f"{count} elements are asked of an axis of size {size}.")
    if count == 0:
        return _nothing(build, data, axis)
    ascending = node.opset >= 11 and not node.flag("largest", 1)
    options = {"axis": axis, "ret_type": "both", "is_ascend": ascending, "dtype": "int64"}
    if is_equal(count, size) == 1 or known:
        kept = count if known else 0  # 0: all of them
        found = build.call("topk", data, k=kept, **options)
        return [build.item(found, 0), build.item(found, 1)]
    given = _too_many_if_negative(build, cast_to(build, node.input(1), "int64"))
    found = build.call("dyn.topk", data, given, **options)
    shape = [count if index == axis else dim for index, dim in enumerate(shape_of(data))]
    both = (build.with_shape(build.item(found, index), shape) for index in (0, 1))
    if count != UNKNOWN:
        return list(both)
    none = build.constant([0], "int64"), build.constant([1], "int64")
    bounds: dict[int, Bounds] = {axis: (0, UNKNOWN, 1)}  # where k is 0, dyn.topk keeps all
    return [open_slice(build, each, (none[0], given, none[1]), bounds) for each in both]


def _count(node: OnnxNode, build: Builder) -> Dim:
    """How many elements are kept; `?` where only a run knows it."""
    if node.opset < 10:
        return node.integer("k")
    counts = vector_dims(build, node.input(1), "the input k")
    if len(counts) != 1:
        raise ModelError(f"the input k must be one integer, but has {len(counts)} elements.")
    return counts[0]


def _too_many_if_negative(build: Builder, count: Expr) -> Expr:
    """A count that ends the run in an error where it is negative, which dyn.topk takes for all."""
    is_negative = build.call("less", count, build.like(0, count))
    return build.call("where", is_negative, build.like(OPEN_END, count), count)


def _nothing(build: Builder, data: Expr, axis: int) -> list[Expr | None]:
    """No elements, and no indices."""
    empty = part(build, data, axis, 0, 0)
    return [empty, build.call("cast", empty, dtype="int64")]


def _cumulative(name: str) -> Translator:
    def translate(node: OnnxNode, build: Builder) -> Expr:
        data, axis = node.input(0), node.input(1)
        if not is_known(axis):
            seen = axis_in_the_middle(build, data, axis)
            return reshape_like_source(build, accumulated(node, build, seen, 1), data)
        index = checked_axis(known_integer(axis, "the input axis"), rank_of(data))
        return accumulated(node, build, data, index)

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
