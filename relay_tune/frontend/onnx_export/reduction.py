"""Reductions, positions of extremes, running sums, choices of the largest, to ONNX."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.frontend.onnx_export.call import (
    OperatorCall,
    OperatorTranslator,
    Value,
    require_float,
)
from relay_tune.frontend.onnx_export.graph import unsupported
from relay_tune.frontend.onnx_import.types import element_type
from relay_tune.typing.relations.reduction import reduced_axes

_OPERATORS = {
    "all": "ReduceMin",
    "any": "ReduceMax",
    "max": "ReduceMax",
    "mean": "ReduceMean",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
}


def _axes(call: OperatorCall) -> tuple[int, ...]:
    return reduced_axes(call.attributes.axis, call.attributes.exclude, call.type_of(0))


def _reduction(call: OperatorCall) -> str:
    """Logical reductions count with 0 and 1."""
    is_logical = call.operator in ("all", "any")
    if call.operator == "mean":
        require_float(call)
    data = call.input(0)
    if is_logical:
        data = call.cast(call.cast(data, "bool"), "int32")
    axes, keep = call.graph.integers(*_axes(call)), int(call.attributes.keepdims)
    operator = _OPERATORS[call.operator]
    result = call.node(operator, data, axes, keepdims=keep, noop_with_empty_axes=1)
    return call.cast(result, "bool") if is_logical else result


def _arg_reduction(call: OperatorCall) -> str:
    """Over one axis, or over all axes without keeping them."""
    axes, keep = _axes(call), int(call.attributes.keepdims)
    data, rank = call.input(0), call.rank()
    if len(axes) != 1:
        if len(axes) != rank or keep:
            raise unsupported(f"axes {axes}; ONNX has one axis only")
        data, axes = call.node("Reshape", data, call.graph.integers(-1)), (0,)
    result = call.node(
        "ArgMax" if call.operator == "argmax" else "ArgMin",
        data,
        axis=axes[0],
        keepdims=keep,
        select_last_index=int(call.attributes.select_last_index),
    )
    dtype = call.result_type.dtype
    return result if dtype == "int64" else call.cast(result, dtype)


def _cumsum(call: OperatorCall) -> str:
    data, axis = call.input(0), call.attributes.axis
    if axis is None:
        data, axis = call.node("Reshape", data, call.graph.integers(-1)), 0
    if call.result_type.dtype != call.type_of(0).dtype:
        data = call.cast(data, call.result_type.dtype)
    position = call.like(axis, "int32")
    return call.node("CumSum", data, position, exclusive=int(call.attributes.exclusive))


def _topk(call: OperatorCall) -> Value:
    attributes = call.attributes
    size = call.shape()[attributes.axis]
    count = call.graph.integers(attributes.k if attributes.k >= 1 else size)
    values, positions = call.graph.nodes(
        "TopK",
        (call.input(0), count),
        2,
        axis=attributes.axis,
        largest=int(not attributes.is_ascend),
    )
    if attributes.ret_type == "values":
        return values
    indices = call.node("Cast", positions, to=element_type(attributes.dtype))
    return indices if attributes.ret_type == "indices" else (values, indices)


REDUCTIONS: Mapping[str, OperatorTranslator] = {
    **dict.fromkeys(_OPERATORS, _reduction),
    "argmax": _arg_reduction,
    "argmin": _arg_reduction,
    "cumsum": _cumsum,
    "topk": _topk,
}
