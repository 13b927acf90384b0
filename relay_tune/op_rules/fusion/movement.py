"""Operators that move elements, in kernels: views, joins, and last steps.

strided_slice(%x: (100, 512), rows 3 to 5)      elements 1536 .. 2560 of %x: a view
concatenate((%a: (1, 512), %b: (1, 512)), 0)    %a and then %b: both can be computed in place
concatenate((%a: (2, 4), %b: (2, 4)), 1)        no join: rows alternate
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.ir.expr import Call, Tuple
from relay_tune.op.primitive_views import JOIN_ONLY, RESHAPE_ONLY, VIEW_OFFSET
from relay_tune.op.slicing import slice_positions
from relay_tune.op_rules.fusion.rule import FusionRule, Stored
from relay_tune.op_rules.matching import RESHAPES, attribute, static_shape


def _always(_: Call, __: Stored) -> bool:
    return True


def _without_gaps(_: Call, stored: Stored) -> bool:
    """Whether what a kernel stores may be permuted.

    Tiles with gaps cannot be transposed in registers to rows of neighbours: element by element, 64
    channels of 32x32 of a transposed convolution take 560 us on one core, and with a transpose of
    their own 415.
    """
    return not stored.with_gaps


def _reshape_only(_: Call) -> Mapping[str, int]:
    return {RESHAPE_ONLY: 1}


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


def is_join(call: Call) -> bool:
    """Whether a concatenation puts different results of calls one after the other in memory."""
    parts, shape = call.arguments[0], static_shape(call)
    if not isinstance(parts, Tuple) or shape is None or not all(shape):
        return False
    axis = int(str(attribute(call, "axis", 0)))
    if prod(shape[: axis % len(shape)]) != 1:
        return False
    fields = parts.fields
    return len(set(fields)) == len(fields) > 1 and all(isinstance(f, Call) for f in fields)


def _join(call: Call) -> Mapping[str, int]:
    return {JOIN_ONLY: 1} if is_join(call) else {}


def _is_tail(call: Call, stored: Stored) -> bool:
    return not stored.moved and attribute(call, "pad_mode", "constant") == "constant"


RULES: Mapping[str, FusionRule] = {
    **dict.fromkeys(
        RESHAPES,
        FusionRule(
            keeps_order=True, is_cheap=True, is_tail=_always, primitive_attributes=_reshape_only
        ),
    ),
    **dict.fromkeys(
        ("transpose", "layout_transform"), FusionRule(is_cheap=True, is_tail=_without_gaps)
    ),
    **dict.fromkeys(("broadcast_to", "broadcast_to_like"), FusionRule(is_cheap=True)),
    "strided_slice": FusionRule(is_cheap=True, is_slice=True, primitive_attributes=_view),
    "concatenate": FusionRule(joins=True, primitive_attributes=_join),
    "nn.pad": FusionRule(is_tail=_is_tail),
}
