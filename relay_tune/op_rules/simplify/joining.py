"""Concatenations of one tensor, of concatenations and of neighbouring slices, and splits."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.types import TupleType
from relay_tune.op_rules.matching import attribute, operator_call, rank, tensor_type
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.simplify.slicing import slice_box
from relay_tune.op_rules.typed import recall, slice_of, with_types

MAXIMUM_MERGED_PARTS = 64
"""Concatenations of concatenations are merged up to so many parts: x, (x, x), ((x, x), (x, x)) ..
doubles with each step."""


def drop_single_concatenate(call_: Call) -> Expr | None:
    """The concatenation of one tensor is that tensor."""
    parts = call_.arguments[0]
    if isinstance(parts, Tuple) and len(parts.fields) == 1:
        return parts.fields[0]
    return None


def merge_concatenates(call_: Call) -> Expr | None:
    """concatenate((concatenate((a, b)), c)) along one axis is concatenate((a, b, c))."""
    parts, dims = call_.arguments[0], rank(call_)
    if not isinstance(parts, Tuple) or dims is None:
        return None
    axis = attribute(call_, "axis") % dims
    fields: list[Expr] = []
    for field in parts.fields:
        inner = operator_call(field, "concatenate")
        nested = inner.arguments[0] if inner is not None else None
        same_axis = inner is not None and attribute(inner, "axis") % dims == axis
        fields.extend(nested.fields if same_axis and isinstance(nested, Tuple) else (field,))
    if len(fields) == len(parts.fields) or len(fields) > MAXIMUM_MERGED_PARTS:
        return None
    return recall(call_, (with_types(Tuple(tuple(fields))),))


def join_slices(call_: Call) -> Expr | None:
    """concatenate((x[0:4], x[4:9])) along the axis that is sliced is x[0:9]."""
    parts, dims = call_.arguments[0], rank(call_)
    if not isinstance(parts, Tuple) or dims is None:
        return None
    axis = attribute(call_, "axis") % dims
    fields = [parts.fields[0]]
    for field in parts.fields[1:]:
        joined = _joined_slices(fields[-1], field, axis)
        fields[-1:] = [fields[-1], field] if joined is None else [joined]
    if len(fields) == len(parts.fields):
        return None
    return fields[0] if len(fields) == 1 else recall(call_, (with_types(Tuple(tuple(fields))),))


def _joined_slices(left: Expr, right: Expr, axis: int) -> Expr | None:
    """Two slices of one tensor, of which one begins along an axis where the other ends, as one."""
    first, second = operator_call(left, "strided_slice"), operator_call(right, "strided_slice")
    if first is None or second is None or first.arguments[0] is not second.arguments[0]:
        return None
    low, high = slice_box(first), slice_box(second)
    if low is None or high is None or low[axis][1] != high[axis][0]:
        return None
    if any(a != b for n, (a, b) in enumerate(zip(low, high, strict=True)) if n != axis):
        return None
    begin = [start for start, _ in low]
    end = [high[n][1] if n == axis else stop for n, (_, stop) in enumerate(low)]
    return slice_of(first.arguments[0], begin, end)


def split_to_slices(call_: Call) -> Expr | None:
    """split(x) is a tuple of slices, each of which can join the kernel that reads it."""
    data = tensor_type(call_.arguments[0])
    if data is None or not isinstance(call_.type, TupleType):
        return None
    dims = data.shape
    axis, begin = attribute(call_, "axis") % len(dims), 0
    if not isinstance(dims[axis], int):
        return None
    fields: list[Expr] = []
    for field in call_.type.fields:
        size = getattr(field, "shape", ())[axis]
        low = tuple(begin if index == axis else 0 for index in range(len(dims)))
        high = tuple(begin + size if index == axis else dim for index, dim in enumerate(dims))
        fields.append(slice_of(call_.arguments[0], low, high))
        begin += size
    return with_types(Tuple(tuple(fields)))


RULES: RuleTable = {
    "concatenate": (drop_single_concatenate, merge_concatenates, join_slices),
    "split": (split_to_slices,),
}
