"""Slices in channels-last order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import Version, Versions, channels_last_rank, last_position
from relay_tune.op_rules.matching import attribute
from relay_tune.op_rules.typed import recall


def strided_slice(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A slice follows its data."""
    dims = channels_last_rank(call_, versions)
    if dims is None or len(call_.arguments) != 1:
        return None
    axes = attribute(call_, "axes")
    given: Sequence[int] = range(len(attribute(call_, "begin"))) if axes is None else axes
    moved = tuple(last_position(axis, dims) for axis in given)
    data = versions.channels_last(call_.arguments[0])
    return {Version.CHANNELS_LAST: recall(call_, (data,), axes=moved)}


RULES: Mapping[str, LayoutRule] = {"strided_slice": LayoutRule(strided_slice)}
