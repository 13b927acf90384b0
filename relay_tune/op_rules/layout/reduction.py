"""Reductions: they follow their data where the axes that remain keep their order."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule, always
from relay_tune.op_rules.layout.versions import (
    Version,
    Versions,
    channels_last_rank,
    last_order,
    last_position,
)
from relay_tune.op_rules.matching import attribute, static_shape
from relay_tune.op_rules.typed import recall, reshape


def reduction(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A reduction follows its data if the axes that remain keep their order.

    So does what is read beside each element of the data, as the mean by a variance.
    """
    dims = channels_last_rank(call_, versions)
    if dims is None:
        return None
    reduced = _reduced_axes(call_, dims)
    keepdims = attribute(call_, "keepdims")
    remaining = [axis for axis in last_order(dims) if axis not in reduced]
    if not keepdims and remaining != sorted(remaining):
        return None
    moved = tuple(sorted(last_position(axis, dims) for axis in reduced))
    arguments = [versions.broadcast_channels_last(each, dims) for each in call_.arguments]
    result = recall(call_, arguments, axis=moved, exclude=False)
    return {Version.CHANNELS_LAST if keepdims else Version.ORIGINAL: result}


def positions(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """The positions of extremes follow along one axis; along several they count in the order."""
    dims = channels_last_rank(call_, versions)
    several = dims is not None and len(_reduced_axes(call_, dims)) > 1
    return None if several else reduction(call_, versions)


def collapse(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A sum down to a shape follows its data where the axes that remain keep their order."""
    dims, target = channels_last_rank(call_, versions), static_shape(call_)
    if dims is None or target is None:
        return None
    whole = (1,) * (dims - len(target)) + target
    moved = tuple(whole[axis] for axis in last_order(dims))
    result = recall(call_, (versions.channels_last(call_.arguments[0]),), shape=moved)
    if len(target) == dims:
        return {Version.CHANNELS_LAST: result}
    kept = [axis for axis in last_order(dims) if whole[axis] != 1]
    return {Version.ORIGINAL: reshape(result, target)} if kept == sorted(kept) else None


def _reduced_axes(call_: Call, dims: int) -> set[int]:
    axis = attribute(call_, "axis")
    if axis is None:
        return set(range(dims))
    given = {one % dims for one in ((axis,) if isinstance(axis, int) else axis)}
    return set(range(dims)) - given if attribute(call_, "exclude", False) else given


_REDUCTION = LayoutRule(reduction, reads_channels_last=always)

RULES: Mapping[str, LayoutRule] = {
    **dict.fromkeys(
        ("sum", "mean", "max", "min", "prod", "all", "any", "variance"),
        _REDUCTION,
    ),
    "collapse_sum_to": LayoutRule(collapse, reads_channels_last=always),
    **dict.fromkeys(("argmax", "argmin"), LayoutRule(positions, reads_channels_last=always)),
}
