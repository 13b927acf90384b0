"""Pooling and resizing: operators whose attribute `layout` is that of their first argument."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule, always
from relay_tune.op_rules.layout.versions import CHANNELS_FIRST, CHANNELS_LAST, Version, Versions
from relay_tune.op_rules.matching import attribute, rank
from relay_tune.op_rules.typed import recall


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


_POOLS = ("max_", "avg_", "global_max_", "global_avg_", "adaptive_max_", "adaptive_avg_")

RULES: Mapping[str, LayoutRule] = dict.fromkeys(
    (
        *(f"nn.{kind}pool{dims}d" for kind in _POOLS for dims in (1, 2, 3)),
        "nn.upsampling",
        "nn.upsampling3d",
        "nn.depth_to_space",
        "nn.space_to_depth",
        "image.resize1d",
        "image.resize2d",
        "image.resize3d",
    ),
    LayoutRule(layout_operator, reads_channels_last=always),
)
