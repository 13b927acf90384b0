"""Shapes, orders of axes, joining and cutting, filling, to ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.frontend.onnx_export.call import (
    OperatorCall,
    OperatorTranslator,
    Value,
    static_shape,
)
from relay_tune.frontend.onnx_export.graph import unsupported
from relay_tune.frontend.onnx_import.types import numpy_dtype
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.types import TupleType
from relay_tune.op.shape import source_axes


def _reshape(call: OperatorCall) -> str:
    """Any change of shape; of sizes that are not known, one may be left to ONNX.

    Others are those of the input: `(1, 12, s, p)` as `(1, 4, -1, p)` reads p of the input's shape.
    """
    shape = call.result_type.shape
    unknown = [position for position, dim in enumerate(shape) if not isinstance(dim, int)]
    if len(unknown) < 2 and not (unknown and 0 in shape):
        sizes = call.graph.integers(*(dim if isinstance(dim, int) else -1 for dim in shape))
        return call.node("Reshape", call.input(0), sizes, allowzero=1)
    found = {position: _axis_of(shape[position], call.type_of(0).shape) for position in unknown}
    left = [position for position in unknown if found[position] is None]
    if len(left) > 1 or (left and 0 in shape):
        raise unsupported("several sizes that are known at run time only")
    given = call.node("Shape", call.input(0))
    parts = []
    for position, dim in enumerate(shape):
        source = found.get(position)
        if source is None:
            parts.append(call.graph.integers(dim if isinstance(dim, int) else -1))
        else:
            parts.append(call.node("Gather", given, call.graph.integers(source)))
    return call.node("Reshape", call.input(0), call.node("Concat", *parts, axis=0), allowzero=1)


def _dynamic_reshape(call: OperatorCall) -> str:
    """Sizes are computed; -1 means the same in ONNX."""
    sizes = call.input(1) if call.type_of(1).dtype == "int64" else call.cast(call.input(1), "int64")
    allowed = int(call.attributes.allowzero)
    return call.node("Reshape", call.input(0), sizes, allowzero=allowed)


def _axis_of(dim: Dim, shape: Sequence[Dim]) -> int | None:
    """Where a shape has the same size; None where it has not, or that is not known."""
    return None if isinstance(dim, UnknownDim) or dim not in shape else list(shape).index(dim)


def _shape_of(call: OperatorCall) -> str:
    shape, dtype = call.node("Shape", call.input(0)), call.attributes.dtype
    return shape if dtype == "int64" else call.cast(shape, dtype)


def _dynamic_arange(call: OperatorCall) -> str:
    """Start, end and step are scalars of one type."""
    dtype = call.attributes.dtype
    ends = [
        call.input(index)
        if call.type_of(index).dtype == dtype
        else call.cast(call.input(index), dtype)
        for index in range(3)
    ]
    return call.node("Range", *ends)


def _transpose(call: OperatorCall) -> str:
    return call.node("Transpose", call.input(0), perm=source_axes(call.attributes, call.rank()))


def _squeeze(call: OperatorCall) -> str:
    axis = call.attributes.axis
    if axis is None:
        return _reshape(call)
    axes = (axis,) if isinstance(axis, int) else axis
    return call.node("Squeeze", call.input(0), call.graph.integers(*axes))


def _expand_dims(call: OperatorCall) -> str:
    axis, count = call.attributes.axis, call.attributes.num_newaxis
    first = axis if axis >= 0 else call.rank() + 1 + axis
    axes = call.graph.integers(*range(first, first + count))
    return call.node("Unsqueeze", call.input(0), axes)


def _concatenate(call: OperatorCall) -> str:
    return call.node("Concat", *call.fields(0), axis=call.attributes.axis)


def _stack(call: OperatorCall) -> str:
    axis = call.attributes.axis % len(call.result_type.shape)
    position = call.graph.integers(axis)
    parts = [call.node("Unsqueeze", part, position) for part in call.fields(0)]
    return call.node("Concat", *parts, axis=axis)


def _split(call: OperatorCall) -> Value:
    assert isinstance(call.result, TupleType)
    axis = call.attributes.axis % call.rank()
    sizes = [getattr(field, "shape", ())[axis] for field in call.result.fields]
    if not all(isinstance(size, int) for size in sizes):
        raise unsupported("sizes that are known at run time only")
    inputs = (call.input(0), call.graph.integers(*sizes))
    return call.graph.nodes("Split", inputs, len(sizes), axis=axis)


def _broadcast(call: OperatorCall) -> str:
    shape = call.graph.integers(*static_shape(call.result_type))
    return call.node("Expand", call.input(0), shape)


def _filled(call: OperatorCall) -> str:
    value = 1 if call.operator.startswith("ones") else 0
    return _constant(call, value)


def _full(call: OperatorCall) -> str:
    """The fill value is the last argument."""
    position = len(call.arguments) - 1
    dtype = call.result_type.dtype
    scalar = call.input(position)
    if call.type_of(position).dtype != dtype:
        scalar = call.cast(scalar, dtype)
    shape = call.graph.integers(*static_shape(call.result_type))
    return call.node("Expand", scalar, shape)


def _constant(call: OperatorCall, value: float) -> str:
    type_ = call.result_type
    array = np.full(static_shape(type_), value, numpy_dtype(type_.dtype))
    return call.graph.constant(array, "filled")


def _arange(call: OperatorCall) -> str:
    attributes = call.attributes
    (count,) = static_shape(call.result_type)
    values = attributes.start + attributes.step * np.arange(count)
    return call.graph.constant(values.astype(numpy_dtype(attributes.dtype)), "range")


def _tile(call: OperatorCall) -> str:
    """Missing leading axes or repetitions are 1."""
    given = call.attributes.reps
    repetitions = (given,) if isinstance(given, int) else tuple(given)
    data, rank = call.input(0), call.rank()
    if len(repetitions) > rank:
        axes = call.graph.integers(*range(len(repetitions) - rank))
        data = call.node("Unsqueeze", data, axes)
    padded = (1,) * (rank - len(repetitions)) + repetitions
    return call.node("Tile", data, call.graph.integers(*padded))


def _pad(call: OperatorCall) -> str:
    before = [first for first, _ in call.attributes.pad_width]
    after = [last for _, last in call.attributes.pad_width]
    widths = call.graph.integers(*before, *after)
    if call.operator == "nn.mirror_pad":
        if call.attributes.mode != "REFLECT":
            raise unsupported(f"mode {call.attributes.mode}")
        return call.node("Pad", call.input(0), widths, mode="reflect")
    mode = call.attributes.pad_mode
    if mode == "constant":
        value = call.input(1)
        if call.type_of(1).dtype != call.type_of(0).dtype:
            value = call.cast(value, call.type_of(0).dtype)
        return call.node("Pad", call.input(0), widths, value, mode=mode)
    if mode not in ("edge", "reflect"):
        raise unsupported(f"pad_mode {mode}")
    return call.node("Pad", call.input(0), widths, mode=mode)


SHAPES: Mapping[str, OperatorTranslator] = {
    "reshape": _reshape,
    "reshape_like": _reshape,
    "nn.batch_flatten": _reshape,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "expand_dims": _expand_dims,
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "broadcast_to": _broadcast,
    "broadcast_to_like": _broadcast,
    "zeros": _filled,
    "ones": _filled,
    "zeros_like": _filled,
    "ones_like": _filled,
    "full": _full,
    "full_like": _full,
    "arange": _arange,
    "dyn.arange": _dynamic_arange,
    "dyn.reshape": _dynamic_reshape,
    "shape_of": _shape_of,
    "tile": _tile,
    "nn.pad": _pad,
    "nn.mirror_pad": _pad,
}
