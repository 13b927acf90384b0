"""Pooling and resizing in channels-last order."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, rank
from relay_tune.op_rules.typed import recall
from relay_tune.transform.layout.versions import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    Version,
    Versions,
)

LAYOUT_OPERATORS = (
    *(
        f"nn.{kind}pool{dims}d"
        for kind in ("max_", "avg_", "global_max_", "global_avg_", "adaptive_max_", "adaptive_avg_")
        for dims in (1, 2, 3)
    ),
    "nn.upsampling",
    "nn.upsampling3d",
    "nn.depth_to_space",
    "nn.space_to_depth",
    "image.resize1d",
    "image.resize2d",
    "image.resize3d",
)
"""Operators whose first argument has the layout that the attribute `layout` says."""


def layout_operator(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Pooling and resizing follow their data."""
    data, *others = call_.arguments
    dims, layout = rank(data), attribute(call_, "layout")
    if dims is None or CHANNELS_FIRST.get(dims) != layout:
        return None
    if not versions.has(data, Version.CHANNELS_LAST):
        return None
    changes = {"layout": CHANNELS_LAST[dims]}
    if attribute(call_, "out_layout", ""):
        return None
    arguments = (versions.channels_last(data), *map(versions.original, others))
    return {Version.CHANNELS_LAST: recall(call_, arguments, **changes)}
