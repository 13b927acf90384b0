"""Slices of the whole, and slices of slices."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, operator_call, static_shape
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.simplify.shape import drop_identity
from relay_tune.op_rules.typed import slice_of


def drop_whole_slice(call_: Call) -> Expr | None:
    """A slice with unit strides that gives the whole tensor is that tensor."""
    strides = attribute(call_, "strides") or (1,)
    return drop_identity(call_) if set(strides) == {1} else None


def merge_slices(call_: Call) -> Expr | None:
    """A slice of a slice is one slice of the sum of the offsets, where strides are 1."""
    inner = operator_call(call_.arguments[0], "strided_slice")
    outer_box = slice_box(call_)
    inner_box = None if inner is None else slice_box(inner)
    if inner is None or outer_box is None or inner_box is None:
        return None
    pairs = list(zip(inner_box, outer_box, strict=True))
    begin = tuple(first[0] + second[0] for first, second in pairs)
    end = tuple(first[0] + second[1] for first, second in pairs)
    return slice_of(inner.arguments[0], begin, end)


def slice_box(call_: Call) -> tuple[tuple[int, int], ...] | None:
    """(begin, end) for every axis of a slice with unit strides and static shape, else None."""
    shape, result = static_shape(call_.arguments[0]), static_shape(call_)
    strides = attribute(call_, "strides") or (1,)
    if shape is None or result is None or set(strides) != {1}:
        return None
    axes = attribute(call_, "axes")
    given = range(len(attribute(call_, "begin"))) if axes is None else axes
    begin = [0] * len(shape)
    for axis, start in zip(given, attribute(call_, "begin"), strict=True):
        size = shape[axis]
        begin[axis % len(shape)] = min(max(start + size if start < 0 else start, 0), size)
    return tuple((b, b + size) for b, size in zip(begin, result, strict=True))


RULES: RuleTable = {"strided_slice": (drop_whole_slice, merge_slices)}
