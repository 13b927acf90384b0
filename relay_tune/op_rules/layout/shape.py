"""Transposes, and flattening before dense layers, in channels-last order."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.dim_arithmetic import product
from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.layout.versions import (
    CHANNELS_FIRST,
    Version,
    Versions,
    channels_last_rank,
    first_order,
    last_order,
    last_position,
)
from relay_tune.op_rules.matching import rank, shape_code, tensor_type, transpose_axes
from relay_tune.op_rules.typed import call, reshape


def transpose(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A transpose reads the channels-last value in another order.

    The argument of one that puts the last axis first is what a convolution reads instead.
    """
    if call_ in versions.wanted_channels_last and is_to_channels_first(call_):
        return {Version.CHANNELS_LAST: versions.original(call_.arguments[0])}
    dims = channels_last_rank(call_, versions)
    if dims is None or versions.has(call_.arguments[0], Version.ORIGINAL):
        return None
    axes = tuple(last_position(axis, dims) for axis in transpose_axes(call_))
    data = versions.channels_last(call_.arguments[0])
    is_identity = axes == tuple(range(dims))
    return {Version.ORIGINAL: data if is_identity else call("transpose", data, axes=axes)}


def is_to_channels_first(call_: Call) -> bool:
    """Whether a transpose makes a channels-last value channels first."""
    dims = rank(call_.arguments[0])
    return dims in CHANNELS_FIRST and transpose_axes(call_) == first_order(dims)


def is_to_channels_last(call_: Call) -> bool:
    """Whether a transpose makes a channels-first value channels last."""
    dims = rank(call_.arguments[0])
    return dims in CHANNELS_FIRST and transpose_axes(call_) == last_order(dims)


def flatten(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """(N, C, H, W) -> (N, CHW) is done in channels-last order; dense layers can adapt to it."""
    dims = channels_last_rank(call_, versions)
    shape = shape_code(call_)
    if dims is None or shape is None or versions.has(call_.arguments[0], Version.ORIGINAL):
        return None
    data = versions.channels_last(call_.arguments[0])
    source = shape_code(data)
    if source is None or len(shape) != 2 or not _keeps_samples(call_, data):
        return None
    versions.unflattened[call_] = source
    return {Version.FLAT_CHANNELS_LAST: reshape(data, shape)}


def _keeps_samples(flat: Expr, data: Expr) -> bool:
    """Whether a row of `flat` has the elements of one sample of `data`; sizes `?` may differ."""
    one, other = tensor_type(flat), tensor_type(data)
    if one is None or other is None:
        return False
    pairs = zip(one.shape, (other.shape[0], product(other.shape[1:])), strict=True)
    return any(size == wanted != UNKNOWN for size, wanted in pairs)


RULES: Mapping[str, LayoutRule] = {
    "transpose": LayoutRule(transpose, reads_channels_last=is_to_channels_last),
    **dict.fromkeys(("reshape", "nn.batch_flatten"), LayoutRule(flatten)),
}
