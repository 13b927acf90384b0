"""Padding in channels-last order."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import Version, Versions, channels_last_rank, last_order
from relay_tune.op_rules.matching import attribute
from relay_tune.op_rules.typed import recall


def pad(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Padding follows its data."""
    dims = channels_last_rank(call_, versions)
    if dims is None:
        return None
    widths = attribute(call_, "pad_width")
    moved = tuple(tuple(widths[axis]) for axis in last_order(dims))
    data, *others = call_.arguments
    arguments = (versions.channels_last(data), *map(versions.original, others))
    return {Version.CHANNELS_LAST: recall(call_, arguments, pad_width=moved)}


RULES: Mapping[str, LayoutRule] = {"nn.pad": LayoutRule(pad)}
