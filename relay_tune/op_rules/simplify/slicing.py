"""Slices of the whole, slices of slices, and slices of what is put together of parts."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.op_rules.matching import (
    RESHAPES,
    attribute,
    constant_data,
    operator_call,
    static_shape,
    uniform_value,
)
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.simplify.shape import drop_identity
from relay_tune.op_rules.typed import constant_of, reshape, slice_of

Box: TypeAlias = tuple[tuple[int, int], ...]
"""(begin, end) for every axis."""


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


def slice_of_part(call_: Call) -> Expr | None:
    """A slice within one part of a concatenation, or of padded rows, is a slice of that part.

    before: strided_slice(concatenate((%a, %b)), begin=[0], end=[2])                 %a: [4, 8]
    after:  strided_slice(%a, begin=[0], end=[2])

    What lies in the padding is a constant. Between them may be a change of shape that keeps rows.
    """
    box, whole, shape = slice_box(call_), call_.arguments[0], static_shape(call_)
    reshaped = operator_call(whole, *RESHAPES)
    if reshaped is not None and box is not None:
        box, whole = _rows_before(reshaped, box), reshaped.arguments[0]
    found = None if box is None else _of_concatenation(whole, box) or _of_padded(whole, box)
    if found is None or shape is None or static_shape(found) == shape:
        return found
    if isinstance(found, Constant):
        return constant_of(found.data.reshape(shape))
    return reshape(found, shape)


def _rows_before(reshaped: Call, box: Box) -> Box | None:
    """The rows, all of whose elements a box has, as rows before the shape was changed."""
    before, after = static_shape(reshaped.arguments[0]), static_shape(reshaped)
    if not before or not after or any(box[n] != (0, size) for n, size in enumerate(after) if n):
        return None
    old, new = prod(before[1:]), prod(after[1:])
    if not old or any(row * new % old for row in box[0]):
        return None
    begin, end = (row * new // old for row in box[0])
    return ((begin, end), *((0, size) for size in before[1:]))


def _of_concatenation(whole: Expr, box: Box) -> Expr | None:
    """A box of a concatenation that lies within one of its parts."""
    joined, parts = operator_call(whole, "concatenate"), None
    if joined is None or not isinstance(parts := joined.arguments[0], Tuple):
        return None
    axis, first = attribute(joined, "axis") % len(box), 0
    for part in parts.fields:
        shape = static_shape(part)
        if shape is None or box[axis][0] < first:
            return None
        if box[axis][1] <= first + shape[axis]:
            return _part(part, box, [first * (n == axis) for n in range(len(box))])
        first += shape[axis]
    return None


def _of_padded(whole: Expr, box: Box) -> Expr | None:
    """A box of data with rows around them that lies within them, or within the other rows.

    Padding within rows stays: it is there for kernels that write and read it.
    """
    padded = operator_call(whole, "nn.pad")
    shape = None if padded is None else static_shape(padded.arguments[0])
    if padded is None or shape is None or attribute(padded, "pad_mode") != "constant":
        return None
    widths = attribute(padded, "pad_width")
    if any(map(any, widths[1:])):
        return None
    before = [pair[0] for pair in widths]
    within = [(first, first + size) for first, size in zip(before, shape, strict=True)]
    pairs = list(zip(box, within, strict=True))
    if all(low <= begin and end <= high for (begin, end), (low, high) in pairs):
        return _part(padded.arguments[0], box, before)
    value = constant_data(padded.arguments[1])
    outside = any(end <= low or high <= begin for (begin, end), (low, high) in pairs)
    if not outside or value is None or uniform_value(padded.arguments[1]) is None:
        return None
    sizes = [end - begin for begin, end in box]
    return constant_of(np.broadcast_to(value.reshape(()), sizes))


def _part(data: Expr, box: Box, first: list[int]) -> Expr:
    """A box of what `data` are a part of; they begin at `first`."""
    begin = [low - start for (low, _), start in zip(box, first, strict=True)]
    end = [high - start for (_, high), start in zip(box, first, strict=True)]
    part = slice_of(data, begin, end)
    return data if part.type == data.type else part


def slice_box(call_: Call) -> Box | None:
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


RULES: RuleTable = {"strided_slice": (drop_whole_slice, merge_slices, slice_of_part)}
