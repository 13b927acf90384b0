"""Rows and columns that are taken by their positions, as an image is resized."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import Version, Versions, channels_last_rank, last_position
from relay_tune.op_rules.matching import attribute, rank, static_shape
from relay_tune.op_rules.typed import recall


def take(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Rows and columns that are taken follow their data; channels are taken channels first.

    So are more rows or columns than there are, if nothing reads them channels last: what is
    converted is small then.
    """
    dims = channels_last_rank(call_, versions)
    axis, positions = attribute(call_, "axis"), call_.arguments[1]
    if dims is None or axis is None or rank(positions) != 1 or axis % dims == 1:
        return None
    if _grows(call_) and call_ not in versions.wanted_channels_last:
        return None
    arguments = versions.channels_last(call_.arguments[0]), versions.original(positions)
    return {Version.CHANNELS_LAST: recall(call_, arguments, axis=last_position(axis, dims))}


def _grows(call_: Call) -> bool:
    """Whether a result of known size has more elements than its data."""
    before, after = static_shape(call_.arguments[0]), static_shape(call_)
    return before is not None and after is not None and prod(after) > prod(before)


RULES: Mapping[str, LayoutRule] = {"take": LayoutRule(take)}
