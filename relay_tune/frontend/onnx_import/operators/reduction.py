"""Reductions, positions of extrema, and softmax of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axes,
    checked_axis,
    dtype_of,
    is_known,
    known_integers,
    rank_of,
    shape_of,
    static_shape,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import positions
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.reshape import flatten_to_matrix, reshape_like_source
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import in_wide
from relay_tune.frontend.onnx_import.run_time_axes import (
    other_sizes,
    reshaped_at_run_time,
    selected_as_columns,
    selected_axes,
    sizes_of,
    sizes_with_ones,
    vector_length,
)
from relay_tune.frontend.onnx_import.types import integer_range, is_float
from relay_tune.ir.expr import Expr

Reduction = Callable[[Builder, Expr, tuple[int, ...], bool], Expr]
"""reduce(builder, data, axes, keep the axes as size 1)."""

_AXES_ARE_INPUT_SINCE = {"ReduceSum": 13}
_ATTRIBUTES_BECAME_INPUTS = 18
_FLOAT16_SUM = 1 << 15
"""So many powers of at most 1 add up to a number that float16 holds."""


def reduce_axes(node: OnnxNode, rank: int) -> tuple[int, ...] | None:
    """The axes that a node reduces; None if it leaves the tensor as it is."""
    since = _AXES_ARE_INPUT_SINCE.get(node.operator, _ATTRIBUTES_BECAME_INPUTS)
    given: tuple[int, ...] = ()
    if node.opset < since:
        given = node.integers("axes", ())
    else:
        axes = node.optional(1)
        given = () if axes is None else known_integers(axes, "the input axes")
    if given:
        return checked_axes(given, rank)
    return None if node.flag("noop_with_empty_axes", 0) else tuple(range(rank))


def plain(name: str) -> Reduction:
    """A reduction that is one operator."""

    def reduce(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
        return build.call(name, data, axis=axes, keepdims=keep)

    return reduce


def _l1(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    return build.call("sum", build.call("abs", data), axis=axes, keepdims=keep)


def _sum_square(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    return build.call("sum", build.call("multiply", data, data), axis=axes, keepdims=keep)


def _l2(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    return build.call("sqrt", _sum_square(build, data, axes, keep))


def _log(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    return build.call("log", data)


def _log_sum(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    return build.call("log", build.call("sum", data, axis=axes, keepdims=keep))


def _log_sum_exp(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
    """The largest element is taken out first, so that exp does not overflow."""
    largest = build.call("max", data, axis=axes, keepdims=True)
    finite = build.call("isfinite", largest)
    largest = build.call("where", finite, largest, build.like(0, data))
    terms = build.call("exp", build.call("subtract", data, largest))
    total = build.call("log", build.call("sum", terms, axis=axes, keepdims=True))
    result = build.call("add", total, largest)
    return result if keep else build.call("squeeze", result, axis=axes)


def in_floats(reduction: Reduction) -> Reduction:
    """A reduction of integers that is computed in floating point and rounded towards zero."""

    def reduce(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
        dtype = dtype_of(data)
        if is_float(dtype):
            return reduction(build, data, axes, keep)
        wide = cast_to(build, data, "float64")
        return cast_to(build, reduction(build, wide, axes, keep), dtype)

    return reduce


def _extremum(name: str, logical: str) -> Reduction:
    def reduce(build: Builder, data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
        chosen = logical if dtype_of(data) == "bool" else name
        return build.call(chosen, data, axis=axes, keepdims=keep)

    return reduce


def _lowest(dtype: str) -> float:
    if dtype == "bool":
        return 0
    return -np.inf if is_float(dtype) else integer_range(dtype)[0]


def _highest(dtype: str) -> float:
    if dtype == "bool":
        return 1
    return np.inf if is_float(dtype) else integer_range(dtype)[1]


_REDUCTIONS: Mapping[str, tuple[Reduction, Callable[[str], float]]] = {
    "ReduceSum": (plain("sum"), lambda dtype: 0),
    "ReduceProd": (plain("prod"), lambda dtype: 1),
    "ReduceMean": (in_floats(plain("mean")), lambda dtype: np.nan if is_float(dtype) else 0),
    "ReduceMax": (_extremum("max", "any"), _lowest),
    "ReduceMin": (_extremum("min", "all"), _highest),
    "ReduceL1": (_l1, lambda dtype: 0),
    "ReduceL2": (in_floats(_l2), lambda dtype: 0),
    "ReduceSumSquare": (_sum_square, lambda dtype: 0),
    "ReduceLogSum": (in_floats(_log_sum), _lowest),
    "ReduceLogSumExp": (in_floats(_log_sum_exp), _lowest),
}
"""Each reduction, and what it gives for no elements."""

_COMPOSED_REDUCTIONS = ("ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
"""Those of several operators, between which nothing may be rounded."""


def translate_reduce(node: OnnxNode, build: Builder) -> Expr:
    """One of the Reduce... operators."""
    data = node.input(0)
    run_time_axes = _run_time_axes(node)
    if run_time_axes is not None:
        return _reduced_at_run_time(node, build, data, run_time_axes)
    axes = reduce_axes(node, rank_of(data))
    reduction, of_nothing = _REDUCTIONS[node.operator]
    if axes is None:
        return _applied_to_elements(node, build, data)
    keep = node.flag("keepdims", 1)
    if any(shape_of(data)[axis] == 0 for axis in axes):
        return build.filled(
            _reduced_shape(data, axes, keep), of_nothing(dtype_of(data)), dtype_of(data)
        )
    if not axes:
        return _applied_to_elements(node, build, data)
    return reduction(build, data, axes, keep)


def _run_time_axes(node: OnnxNode) -> Expr | None:
    """The axes, where they are computed; None if they are known."""
    since = _AXES_ARE_INPUT_SINCE.get(node.operator, _ATTRIBUTES_BECAME_INPUTS)
    axes = None if node.opset < since else node.optional(1)
    return None if axes is None or is_known(axes) else axes


def _reduced_at_run_time(node: OnnxNode, build: Builder, data: Expr, axes: Expr) -> Expr:
    """The tensor is seen as a matrix whose rows are reduced."""
    rank = rank_of(data)
    reduction, of_nothing = _REDUCTIONS[node.operator]
    selected = selected_axes(build, axes, rank)
    if not node.flag("noop_with_empty_axes", 0):
        none = build.call("logical_not", build.call("any", selected))
        selected = build.call("logical_or", selected, none)
    sizes = sizes_of(build, data)
    if node.flag("keepdims", 1):
        sizes = sizes_with_ones(build, sizes, selected)
    else:
        sizes = other_sizes(build, sizes, selected, max(rank - vector_length(axes), 0))
    if 0 in shape_of(data):
        nothing = build.constant(of_nothing(dtype_of(data)), dtype_of(data))
        return build.call("dyn.full", nothing, sizes, dtype=dtype_of(data))
    rows = reduction(build, selected_as_columns(build, data, selected), (1,), False)
    return reshaped_at_run_time(build, rows, sizes)


def _applied_to_elements(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    """A reduction along no axis: only its formula is applied to each element."""
    match node.operator:
        case "ReduceL1" | "ReduceL2":
            return build.call("abs", data)
        case "ReduceSumSquare":
            return build.call("multiply", data, data)
        case "ReduceLogSum":
            return in_floats(_log)(build, data, (), True)
        case _:
            return data


def _reduced_shape(data: Expr, axes: tuple[int, ...], keep: bool) -> tuple[int, ...]:
    shape = static_shape(data)
    if keep:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _arg_reduction(name: str) -> Translator:
    def translate(node: OnnxNode, build: Builder) -> Expr:
        data = node.input(0)
        axis = checked_axis(node.integer("axis", 0), rank_of(data))
        if shape_of(data)[axis] == 0:
            raise ModelError(f"axis {axis} has no elements, so that there is no extreme one.")
        found = build.call(
            name,
            data,
            axis=(axis,),
            keepdims=node.flag("keepdims", 1),
            select_last_index=node.flag("select_last_index", 0),
        )
        return cast_to(build, found, "int64")

    return translate


def _along_axis(apply: Callable[[Builder, Expr, int], Expr]) -> Translator:
    """Softmax and its kin: along one axis; before version 13 along all axes from one on."""

    def translate(node: OnnxNode, build: Builder) -> Expr:
        data = node.input(0)
        rank = rank_of(data)
        if node.opset >= 13:
            return apply(build, data, checked_axis(node.integer("axis", -1), rank))
        axis = checked_axis(node.integer("axis", 1), rank)
        if axis == rank - 1:
            return apply(build, data, axis)
        matrix = flatten_to_matrix(build, data, axis)
        return reshape_like_source(build, apply(build, matrix, 1), data)

    return translate


def _softmax(build: Builder, data: Expr, axis: int) -> Expr:
    """exp(x) / sum(exp(x)); of float16 each step is rounded, as the standard's formula has it.

    Where the sum of the powers could be larger than float16 holds, it is not.
    """
    size = shape_of(data)[axis]
    if dtype_of(data) != "float16" or not isinstance(size, int) or size > _FLOAT16_SUM:
        return build.call("nn.softmax", data, axis=axis)
    largest = build.call("max", data, axis=(axis,), keepdims=True)
    terms = build.call("exp", build.call("subtract", data, largest))
    return build.call("divide", terms, build.call("sum", terms, axis=(axis,), keepdims=True))


def _hardmax(build: Builder, data: Expr, axis: int) -> Expr:
    """1 at the first largest element along the axis, 0 elsewhere."""
    found = build.call("argmax", data, axis=(axis,), keepdims=True)
    indices, behind = positions(build, data, axis), rank_of(data) - axis - 1
    if behind:
        indices = build.call("expand_dims", indices, axis=1, num_newaxis=behind)
    return cast_to(
        build, build.call("equal", cast_to(build, found, "int64"), indices), dtype_of(data)
    )


REDUCTIONS: Mapping[str, Translator] = {
    **dict.fromkeys(_REDUCTIONS, translate_reduce),
    **dict.fromkeys(_COMPOSED_REDUCTIONS, in_wide(translate_reduce)),
    "ArgMax": _arg_reduction("argmax"),
    "ArgMin": _arg_reduction("argmin"),
    "Softmax": _along_axis(_softmax),
    "LogSoftmax": _along_axis(
        lambda build, data, axis: build.call("nn.log_softmax", data, axis=axis)
    ),
    "Hardmax": _along_axis(_hardmax),
}
