"""Parts of tensors by position, to ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from relay_tune.frontend.onnx_export.call import OperatorCall, OperatorTranslator, static_shape
from relay_tune.frontend.onnx_export.graph import unsupported
from relay_tune.frontend.onnx_import.types import numpy_dtype
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.op.slicing import axis_slices

_FAR = 2**62


def _positions(call: OperatorCall, data: str, axis: int, size: Dim, mode: str) -> str:
    """Positions on an axis of some data as ONNX counts them: inside of it, int32 or int64."""
    name, dtype = call.input(1), call.type_of(1).dtype
    value = call.graph.value_of(name)
    if value is not None and (isinstance(size, int) or mode == "raise"):
        given = value.astype(np.int64)
        if mode == "raise":
            return call.graph.constant(given, "positions")
        assert isinstance(size, int)
        inside = given % size if mode == "wrap" else np.clip(given, 0, size - 1)
        return call.graph.constant(inside, "positions")
    if dtype not in ("int32", "int64"):
        name, dtype = call.cast(name, "int64"), "int64"
    if mode in ("fast", "raise"):
        return name
    if not isinstance(size, int):
        return _positions_of_any_size(call, data, axis, name, mode)
    if mode == "wrap":
        return call.node("Mod", name, call.like(size, dtype))
    return call.node("Clip", name, call.like(0, dtype), call.like(size - 1, dtype))


def _positions_of_any_size(
    call: OperatorCall, data: str, axis: int, positions: str, mode: str
) -> str:
    """Positions inside of an axis whose size only a run knows."""
    if call.type_of(1).dtype != "int64":
        positions = call.cast(positions, "int64")
    size = call.node("Gather", call.node("Shape", data), call.like(axis, "int64"))
    if mode == "wrap":
        return call.node("Mod", positions, size)
    last = call.node("Sub", size, call.like(1, "int64"))
    return call.node("Min", call.node("Max", positions, call.like(0, "int64")), last)


def _take(call: OperatorCall) -> str:
    attributes, data = call.attributes, call.input(0)
    if attributes.batch_dims:
        raise unsupported(f"batch_dims {attributes.batch_dims}")
    axis, shape = attributes.axis, call.type_of(0).shape
    if axis is None:
        data = call.node("Reshape", data, call.graph.integers(-1))
        axis, shape = 0, (_count(shape),)
    positions = _positions(call, data, axis, shape[axis], attributes.mode)
    return call.node("Gather", data, positions, axis=axis)


def _count(shape: Sequence[Dim]) -> Dim:
    sizes = [dim for dim in shape if isinstance(dim, int)]
    return prod(sizes) if len(sizes) == len(shape) else UNKNOWN


def _gather(call: OperatorCall) -> str:
    axis = call.attributes.axis
    positions = _positions(call, call.input(0), axis, call.type_of(0).shape[axis], "raise")
    return call.node("GatherElements", call.input(0), positions, axis=axis)


def _strided_slice(call: OperatorCall) -> str:
    slices = axis_slices(call.attributes, call.rank())
    cut = [(axis, one) for axis, one in enumerate(slices) if one != slice(None, None, 1)]
    cut = [(axis, one) for axis, one in cut if one != slice(None)]
    steps = [1 if one.step is None else one.step for _, one in cut]
    begins = [_begin(one.start, step) for (_, one), step in zip(cut, steps, strict=True)]
    ends = [_end(one.stop, step) for (_, one), step in zip(cut, steps, strict=True)]
    axes = [axis for axis, _ in cut]
    integers = call.graph.integers
    return call.node(
        "Slice",
        call.input(0),
        integers(*begins),
        integers(*ends),
        integers(*axes),
        integers(*steps),
    )


def _begin(given: int | None, step: int) -> int:
    if given is not None:
        return given
    return 0 if step > 0 else _FAR


def _end(given: int | None, step: int) -> int:
    if given is not None:
        return given
    return _FAR if step > 0 else -_FAR


def _slice_like(call: OperatorCall) -> str:
    wanted = static_shape(call.result_type)
    zeros = call.graph.integers(*(0 for _ in wanted))
    axes = call.graph.integers(*range(len(wanted)))
    return call.node("Slice", call.input(0), zeros, call.graph.integers(*wanted), axes)


def _reverse(call: OperatorCall) -> str:
    integers = call.graph.integers
    axis = integers(call.attributes.axis % call.rank())
    return call.node("Slice", call.input(0), integers(-1), integers(-_FAR), axis, integers(-1))


def _repeat(call: OperatorCall) -> str:
    axis, count = call.attributes.axis, call.attributes.repeats
    if axis is None:
        raise unsupported("axis None")
    if not isinstance(call.type_of(0).shape[axis], int):
        return _repeat_of_any_size(call)
    positions = np.repeat(np.arange(call.shape()[axis], dtype=np.int64), count)
    return call.node(
        "Gather", call.input(0), call.graph.constant(positions, "positions"), axis=axis
    )


def _repeat_of_any_size(call: OperatorCall) -> str:
    """An enlargement to the nearest element, which is that before."""
    if call.type_of(0).dtype not in _RESIZED:
        raise unsupported("sizes that are known at run time only")
    scales = np.ones(call.rank(), np.float32)
    scales[call.attributes.axis] = call.attributes.repeats
    return call.node(
        "Resize",
        *(call.input(0), "", call.graph.constant(scales, "scales")),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


_RESIZED = frozenset({"float16", "float32", "int8", "uint8", "int32"})
"""Element types that runtimes enlarge."""


def _one_hot(call: OperatorCall) -> str:
    attributes = call.attributes
    dtype = numpy_dtype(attributes.dtype)
    values = [call.graph.value_of(call.input(position)) for position in (1, 2)]
    if values[0] is None or values[1] is None:
        raise unsupported("values that are no constants")
    choices = np.stack([values[1], values[0]]).astype(dtype).reshape(2)
    depth = call.like(attributes.depth, "int64")
    positions = call.input(0)
    return call.node(
        "OneHot", positions, depth, call.graph.constant(choices, "values"), axis=attributes.axis
    )


INDEXING: Mapping[str, OperatorTranslator] = {
    "take": _take,
    "gather": _gather,
    "strided_slice": _strided_slice,
    "slice_like": _slice_like,
    "reverse": _reverse,
    "repeat": _repeat,
    "one_hot": _one_hot,
}
