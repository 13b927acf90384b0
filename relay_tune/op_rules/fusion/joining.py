"""Concatenations, whose parts kernels may write in place.

concatenate((%a: (1, 512), %b: (1, 512)), 0)    %a and then %b: both can be computed in place
concatenate((%a: (2, 4), %b: (2, 4)), 1)        no join: rows alternate
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.ir.expr import Call, Tuple
from relay_tune.op.primitive_views import JOIN_ONLY
from relay_tune.op_rules.fusion.rule import FusionRule
from relay_tune.op_rules.matching import attribute, static_shape


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


RULES: Mapping[str, FusionRule] = {
    "concatenate": FusionRule(joins=True, primitive_attributes=_join)
}
