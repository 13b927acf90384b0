"""Concatenations of tensors of which some are channels last."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import (
    CHANNELS_FIRST,
    Version,
    Versions,
    channels_last_is_cheaper,
    last_position,
)
from relay_tune.op_rules.matching import attribute, rank
from relay_tune.op_rules.typed import recall, tuple_of


def concatenate(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A concatenation goes the way that moves fewer elements."""
    parts, dims = call_.arguments[0], rank(call_)
    if not isinstance(parts, Tuple) or dims not in CHANNELS_FIRST:
        return None
    if not channels_last_is_cheaper(parts.fields, versions):
        return None
    fields_ = [versions.channels_last(part) for part in parts.fields]
    axis = last_position(attribute(call_, "axis"), dims)
    return {Version.CHANNELS_LAST: recall(call_, (tuple_of(fields_),), axis=axis)}


RULES: Mapping[str, LayoutRule] = {"concatenate": LayoutRule(concatenate)}
