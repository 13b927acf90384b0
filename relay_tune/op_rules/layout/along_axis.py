"""Operators whose attribute `axis` names axes of what they keep the shape of."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import CHANNELS_FIRST, Version, Versions, last_position
from relay_tune.op_rules.matching import attribute, rank
from relay_tune.op_rules.typed import recall


def along_axis(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """softmax, bias_add and the like: the axis moves with its data."""
    data, *others = call_.arguments
    dims, axis = rank(data), attribute(call_, "axis")
    if dims not in CHANNELS_FIRST or axis is None or data.type != call_.type:
        return None
    if not versions.has(data, Version.CHANNELS_LAST):
        return None
    if isinstance(axis, int):
        moved: int | tuple[int, ...] = last_position(axis, dims)
    else:
        moved = tuple(last_position(one, dims) for one in axis)
    arguments = (versions.channels_last(data), *map(versions.original, others))
    return {Version.CHANNELS_LAST: recall(call_, arguments, axis=moved)}


RULES: Mapping[str, LayoutRule] = dict.fromkeys(
    (
        "nn.softmax",
        "nn.log_softmax",
        "nn.lrn",
        "nn.bias_add",
        "nn.prelu",
        "nn.l2_normalize",
        "cumsum",
        "cumprod",
    ),
    LayoutRule(along_axis),
)
