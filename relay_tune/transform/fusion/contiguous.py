"""Calls whose result lies in one piece of what they read, or of which what they read are pieces.

strided_slice(%x: (100, 512), rows 3 to 5)      elements 1536 .. 2560 of %x: a view
concatenate((%a: (1, 512), %b: (1, 512)), 0)    %a and then %b: both can be computed in place
concatenate((%a: (2, 4), %b: (2, 4)), 1)        no join: rows alternate
"""

from __future__ import annotations

from math import prod

from relay_tune.ir.expr import Call, Tuple
from relay_tune.op.slicing import slice_positions
from relay_tune.op_rules.matching import attribute, operator_name, static_shape


def slice_offset(call: Call) -> int | None:
    """The first element of a slice that is one piece of memory; None for any other call."""
    if operator_name(call) != "strided_slice" or call.attributes is None:
        return None
    whole, part = static_shape(call.arguments[0]), static_shape(call)
    if whole is None or part is None or not all(part):
        return None
    positions = slice_positions(call.attributes, whole)
    if any(taken.step != 1 and size > 1 for taken, size in zip(positions, part, strict=True)):
        return None
    outer = next((axis for axis, size in enumerate(part) if size > 1), len(part))
    if part[outer + 1 :] != whole[outer + 1 :]:
        return None
    strides = [prod(whole[axis + 1 :]) for axis in range(len(whole))]
    return sum(taken.start * stride for taken, stride in zip(positions, strides, strict=True))


def is_join(call: Call) -> bool:
    """Whether a call puts several different results of calls one after the other in memory."""
    if operator_name(call) != "concatenate" or len(call.arguments) != 1:
        return False
    parts, shape = call.arguments[0], static_shape(call)
    if not isinstance(parts, Tuple) or shape is None or not all(shape):
        return False
    axis = int(str(attribute(call, "axis", 0)))
    if prod(shape[: axis % len(shape)]) != 1:
        return False
    fields = parts.fields
    return len(set(fields)) == len(fields) > 1 and all(isinstance(f, Call) for f in fields)
