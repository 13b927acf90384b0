"""Conversions from and to element types of at most 8 bits, and the operators that move them."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of
from relay_tune.frontend.onnx_import.narrow_types import (
    NARROW_TYPES,
    ROUNDINGS,
    NarrowType,
    decoded_values,
    rounding,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.types import dtype_name
from relay_tune.ir.expr import Expr

_MOVING = {
    *("Identity", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Expand", "Tile"),
    *("Concat", "Split", "Slice", "Gather", "GatherElements", "GatherND", "Compress", "Where"),
    *("DepthToSpace", "SpaceToDepth", "ReverseSequence"),
}
"""Operators whose results are elements of their inputs, whatever these stand for."""

_ASKING = {"Shape", "Size"}

_CONVERTING = {
    *("Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "BitCast"),
    "GatherBlockQuantized",
}
"""Operators that know of narrow types."""


def note_narrow_results(build: Builder, node: OnnxNode, results: Sequence[Expr | None]) -> None:
    """Remember which results of an operator that moves elements are of a narrow type.

    Raises UnsupportedOperatorError if it computes with such elements, ModelError if it mixes types.
    """
    kinds = {each: build.narrow.get(each) for each in node.inputs if each is not None}
    found = {kind for kind in kinds.values() if kind is not None}
    if not found or node.operator in _CONVERTING | _ASKING:
        return
    kind = found.pop()
    if node.operator not in _MOVING:
        refuse_narrow(build, node.operator, node.inputs)
    wide = [each for each, other in kinds.items() if other is None]
    if found or (node.operator in ("Concat",) and wide):
        raise ModelError("the inputs have different element types.")
    for result in results:
        if result is not None and dtype_of(result) == kind.storage:
            build.narrow[result] = kind


def refuse_narrow(build: Builder, operator: str, values: Sequence[Expr | None]) -> None:
    """Raises UnsupportedOperatorError if one of the values is of a narrow type."""
    kinds = [build.narrow[each] for each in values if each is not None and each in build.narrow]
    if kinds:
        raise UnsupportedOperatorError(
            f"{operator} of {kinds[0].name} is not supported: such elements are only stored.",
            remedy="Convert them by Cast or DequantizeLinear first.",
        )


def cast_element_type(
    build: Builder, data: Expr, to: int, saturate: bool = True, mode: str = "up"
) -> Expr:
    """`data`, of any element type, in the element type that ONNX gives the number `to`."""
    target = NARROW_TYPES.get(to)
    if target is None:
        return widened_to(build, data, dtype_name(to, "the result"))
    if target == build.narrow.get(data):
        return data
    if target.is_float:
        return _encoded(build, widened_to(build, data, "float32"), target, saturate, mode)
    source = widened(build, data)
    if dtype_of(source) == "bool":
        source = build.call("cast", source, dtype=target.storage)
    return _wrapped(build, source, target)


def widened(build: Builder, data: Expr) -> Expr:
    """The numbers that stored elements stand for: float32 or bytes; other tensors as they are."""
    kind = build.narrow.get(data)
    if kind is None:
        return data
    if not kind.is_float:
        return build.call("copy", data)  # the same numbers, which now are of the wider type
    index = build.call("cast", data, dtype="int32")
    return build.call("take", build.constant(decoded_values(kind)), index, axis=0)


def widened_to(build: Builder, data: Expr, dtype: str) -> Expr:
    """The numbers that elements stand for, in a type to compute with."""
    wide = widened(build, data)
    return wide if dtype_of(wide) == dtype else build.call("cast", wide, dtype=dtype)


def checked_rounding(node: OnnxNode) -> str:
    """How Cast rounds to powers of two."""
    mode = node.text("round_mode", "up")
    if mode not in ROUNDINGS:
        raise ModelError(f"attribute round_mode must be one of {', '.join(ROUNDINGS)}.")
    return mode


def _wrapped(build: Builder, data: Expr, target: NarrowType) -> Expr:
    """Integers of which the low bits are kept; floats are cut to integers first."""
    if dtype_of(data) != "int32":
        data = build.call("cast", data, dtype="int32")
    low = build.call("bitwise_and", data, build.like(2**target.bits - 1, data))
    if target.storage == "int8":
        sign = build.like(1 << (target.bits - 1), data)
        low = build.call("subtract", build.call("bitwise_xor", low, sign), sign)
    return noted(build, build.call("cast", low, dtype=target.storage), target)


def noted(build: Builder, data: Expr, kind: NarrowType) -> Expr:
    """`data`, of which is remembered what its elements stand for."""
    build.narrow[data] = kind
    return data


def _encoded(build: Builder, data: Expr, target: NarrowType, saturate: bool, mode: str) -> Expr:
    """float32 numbers rounded: how many thresholds they reach says which byte it is."""
    table = rounding(target, saturate, mode)
    count = len(table.thresholds)
    magnitude = build.call("abs", data)
    index = build.call("searchsorted", build.constant(table.thresholds), magnitude, right=True)
    bits = build.call("reinterpret", data, dtype="int32")
    negative = build.call("less", bits, build.like(0, bits))
    shifted = build.call("add", index, build.like(count + 1, index))
    index = build.call("where", negative, shifted, index)
    last = build.like(len(table.codes) - 1, index)
    index = build.call("where", build.call("isnan", data), last, index)
    return noted(build, build.call("take", build.constant(table.codes), index, axis=0), target)
