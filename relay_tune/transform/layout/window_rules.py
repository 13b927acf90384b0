"""Convolutions, pooling and resizing in channels-last order."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr
from relay_tune.transform.layout.versions import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    Version,
    Versions,
    relayout,
)
from relay_tune.transform.matching import attribute, rank
from relay_tune.transform.typed import recall
from relay_tune.transform.weighted import CONVOLUTIONS, TRANSPOSED_CONVOLUTIONS

CONVOLUTION_OPERATORS = (*CONVOLUTIONS, *TRANSPOSED_CONVOLUTIONS)

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


def convolution(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A channels-first convolution always becomes channels last, its kernel HWIO."""
    dims = rank(call_.arguments[0])
    data_layout, kernel_layout = attribute(call_, "data_layout"), attribute(call_, "kernel_layout")
    if dims is None or CHANNELS_FIRST.get(dims) != data_layout or not kernel_layout.isalpha():
        return None
    if attribute(call_, "out_layout", "") not in ("", data_layout):
        return None
    data, weight = call_.arguments
    kernel_target = CHANNELS_LAST[dims][1:-1] + "IO"
    converted = recall(
        call_,
        (
            versions.channels_last(data),
            relayout(versions.original(weight), kernel_layout, kernel_target),
        ),
        data_layout=CHANNELS_LAST[dims],
        kernel_layout=kernel_target,
        out_layout="",
    )
    return {Version.CHANNELS_LAST: converted}


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
