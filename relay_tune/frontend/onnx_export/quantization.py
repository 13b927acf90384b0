"""Quantizations to ONNX: nodes of their own for bytes, simple operators for others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator

BYTES = ("int8", "uint8")
"""Element types that operator set 18 quantizes to."""


def _quantize(call: OperatorCall) -> str:
    """NaN becomes the lowest number: it is not above it."""
    dtype = call.attributes.out_dtype
    if dtype in BYTES and call.type_of(2).dtype == dtype:
        return _linear(call, "QuantizeLinear")
    limits = np.iinfo(dtype)
    ratio = call.node("Round", call.node("Div", call.input(0), _aligned(call, 1)))
    shifted = call.node("Add", ratio, call.cast(_aligned(call, 2), "float32"))
    low, high = call.like(limits.min), call.like(limits.max)
    least = call.node("Where", call.node("Greater", shifted, low), shifted, low)
    return call.cast(call.node("Min", least, high), dtype)


def _dequantize(call: OperatorCall) -> str:
    dtype = call.type_of(0).dtype
    if dtype in BYTES and call.type_of(2).dtype == dtype:
        return _linear(call, "DequantizeLinear")
    zeros = call.graph.value_of(call.input(2))
    if dtype == "int32" and zeros is not None and not zeros.any():
        axis = {} if call.rank(1) == 0 else {"axis": call.attributes.axis % call.rank()}
        return call.node("DequantizeLinear", call.input(0), call.input(1), **axis)
    wide = "uint32" if dtype == "uint32" else "int32"
    zero = call.cast(_aligned(call, 2), wide)
    real = call.cast(call.node("Sub", call.cast(call.input(0), wide), zero), "float32")
    return call.node("Mul", real, _aligned(call, 1))


def _linear(call: OperatorCall, operator: str) -> str:
    """One node, whose parameters are both numbers or both vectors."""
    ranks = call.rank(1), call.rank(2)
    scale, zero = call.input(1), call.input(2)
    if ranks == (0, 0):
        return call.node(operator, call.input(0), scale, zero)
    axis = call.attributes.axis % call.rank()
    if ranks == (0, 1):
        scale = call.node("Expand", scale, call.node("Shape", zero))
    elif ranks == (1, 0):
        zero = call.node("Expand", zero, call.node("Shape", scale))
    return call.node(operator, call.input(0), scale, zero, axis=axis)


def _aligned(call: OperatorCall, index: int) -> str:
    """A parameter so that it broadcasts along the axis that it counts."""
    if call.rank(index) == 0:
        return call.input(index)
    trailing = call.rank() - 1 - call.attributes.axis % call.rank()
    if not trailing:
        return call.input(index)
    shape = call.graph.constant(np.array([-1, *(1,) * trailing], np.int64), "shape")
    return call.node("Reshape", call.input(index), shape)


QUANTIZATIONS: Mapping[str, OperatorTranslator] = {
    "qnn.quantize": _quantize,
    "qnn.dequantize": _dequantize,
}
"""Translators of conversions between floats and stored integers."""
