"""Slices: parts of what exists in memory.

strided_slice(%x: (100, 512), rows 3 to 5)      elements 1536 .. 2560 of %x: a view
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.ir.expr import Call
from relay_tune.op.primitive_views import VIEW_OFFSET
from relay_tune.op.slicing import slice_positions
from relay_tune.op_rules.fusion.rule import FusionRule
from relay_tune.op_rules.matching import static_shape


def slice_offset(call: Call) -> int | None:
    """The first element of a slice that is one piece of memory; None for any other slice."""
    whole, part = static_shape(call.arguments[0]), static_shape(call)
    if call.attributes is None or whole is None or part is None or not all(part):
        return None
    positions = slice_positions(call.attributes, whole)
    if any(taken.step != 1 and size > 1 for taken, size in zip(positions, part, strict=True)):
        return None
    outer = next((axis for axis, size in enumerate(part) if size > 1), len(part))
    if part[outer + 1 :] != whole[outer + 1 :]:
        return None
    strides = [prod(whole[axis + 1 :]) for axis in range(len(whole))]
    return sum(taken.start * stride for taken, stride in zip(positions, strides, strict=True))


def _view(call: Call) -> Mapping[str, int]:
    offset = slice_offset(call)
    return {} if offset is None else {VIEW_OFFSET: offset}


RULES: Mapping[str, FusionRule] = {
    "strided_slice": FusionRule(is_cheap=True, is_slice=True, primitive_attributes=_view)
}
