"""Operators that follow their data: they run channels last where it is there, and name axes so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op_rules.layout.rule import LayoutRule, always
from relay_tune.op_rules.layout.versions import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    Version,
    Versions,
    channels_last_is_cheaper,
    channels_last_rank,
    last_order,
    last_position,
)
from relay_tune.op_rules.matching import attribute, rank, static_shape
from relay_tune.op_rules.typed import recall, tuple_of


def _following(call_: Call, versions: Versions, **changes: Any) -> dict[Version, Expr]:
    """The call on channels-last data, with what else it reads as it is."""
    data, *others = call_.arguments
    arguments = (versions.channels_last(data), *map(versions.original, others))
    return {Version.CHANNELS_LAST: recall(call_, arguments, **changes)}


def along_axis(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """softmax, bias_add and the like: the attribute `axis` moves with the data."""
    dims, axis = channels_last_rank(call_, versions), attribute(call_, "axis")
    if dims is None or axis is None or call_.arguments[0].type != call_.type:
        return None
    if isinstance(axis, int):
        return _following(call_, versions, axis=last_position(axis, dims))
    return _following(call_, versions, axis=tuple(last_position(one, dims) for one in axis))


def with_layout(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Pooling and resizing: the attribute `layout` is that of the data."""
    dims = channels_last_rank(call_, versions)
    if dims is None or attribute(call_, "layout") != CHANNELS_FIRST[dims]:
        return None
    if attribute(call_, "out_layout", ""):
        return None
    return _following(call_, versions, layout=CHANNELS_LAST[dims])


def strided_slice(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A slice."""
    dims = channels_last_rank(call_, versions)
    if dims is None or len(call_.arguments) != 1:
        return None
    axes = attribute(call_, "axes")
    given: Sequence[int] = range(len(attribute(call_, "begin"))) if axes is None else axes
    return _following(call_, versions, axes=tuple(last_position(axis, dims) for axis in given))


def pad(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Padding."""
    dims = channels_last_rank(call_, versions)
    if dims is None:
        return None
    widths = attribute(call_, "pad_width")
    moved = tuple(tuple(widths[axis]) for axis in last_order(dims))
    return _following(call_, versions, pad_width=moved)


def take(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Rows and columns that are taken, as in resizing; channels are taken channels first.

    So are more rows or columns than there are, if nothing reads them channels last: what is
    converted is small then.
    """
    dims = channels_last_rank(call_, versions)
    axis, positions = attribute(call_, "axis"), call_.arguments[1]
    if dims is None or axis is None or rank(positions) != 1 or axis % dims == 1:
        return None
    if _grows(call_) and call_ not in versions.wanted_channels_last:
        return None
    return _following(call_, versions, axis=last_position(axis, dims))


def _grows(call_: Call) -> bool:
    """Whether a result of known size has more elements than its data."""
    before, after = static_shape(call_.arguments[0]), static_shape(call_)
    return before is not None and after is not None and prod(after) > prod(before)


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


_ALONG_AXIS = (
    "nn.softmax nn.log_softmax nn.lrn nn.bias_add nn.prelu nn.l2_normalize cumsum cumprod"
).split()
_POOLS = ("max_", "avg_", "global_max_", "global_avg_", "adaptive_max_", "adaptive_avg_")
_WITH_LAYOUT = (
    *(f"nn.{kind}pool{dims}d" for kind in _POOLS for dims in (1, 2, 3)),
    *(f"image.resize{dims}d" for dims in (1, 2, 3)),
    *("nn.upsampling", "nn.upsampling3d", "nn.depth_to_space", "nn.space_to_depth"),
)

RULES: Mapping[str, LayoutRule] = {
    **dict.fromkeys(_ALONG_AXIS, LayoutRule(along_axis)),
    **dict.fromkeys(_WITH_LAYOUT, LayoutRule(with_layout, reads_channels_last=always)),
    "concatenate": LayoutRule(concatenate),
    "nn.pad": LayoutRule(pad),
    "strided_slice": LayoutRule(strided_slice),
    "take": LayoutRule(take),
}
