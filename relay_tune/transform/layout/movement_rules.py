"""Reductions, slices, padding, transposes, flattening, and dense layers after flattening.

Rows and columns that are taken by their places (as an image is resized) are slices, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import attribute, operator_name, rank, shape_code, tensor_type
from relay_tune.op_rules.simplify.shape import transpose_axes
from relay_tune.op_rules.typed import call, constant_of, recall, reshape
from relay_tune.transform.layout.versions import (
    CHANNELS_FIRST,
    Version,
    Versions,
    first_order,
    last_order,
    last_position,
)

REDUCTIONS = ("sum", "mean", "max", "min", "prod", "all", "any", "variance", "argmax", "argmin")


def reduction(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A reduction follows its data if the axes that remain keep their order."""
    dims = _channels_last_rank(call_, versions)
    if dims is None or len(call_.arguments) != 1:
        return None
    reduced = _reduced_axes(call_, dims)
    if operator_name(call_) in ("argmax", "argmin") and len(reduced) > 1:
        return None
    keepdims = attribute(call_, "keepdims")
    remaining = [axis for axis in last_order(dims) if axis not in reduced]
    if not keepdims and remaining != sorted(remaining):
        return None
    moved = tuple(sorted(last_position(axis, dims) for axis in reduced))
    result = recall(call_, (versions.channels_last(call_.arguments[0]),), axis=moved, exclude=False)
    return {Version.CHANNELS_LAST if keepdims else Version.ORIGINAL: result}


def pad(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Padding follows its data."""
    dims = _channels_last_rank(call_, versions)
    if dims is None:
        return None
    widths = attribute(call_, "pad_width")
    moved = tuple(tuple(widths[axis]) for axis in last_order(dims))
    data, *others = call_.arguments
    arguments = (versions.channels_last(data), *map(versions.original, others))
    return {Version.CHANNELS_LAST: recall(call_, arguments, pad_width=moved)}


def strided_slice(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A slice follows its data."""
    dims = _channels_last_rank(call_, versions)
    if dims is None or len(call_.arguments) != 1:
        return None
    axes = attribute(call_, "axes")
    given: Sequence[int] = range(len(attribute(call_, "begin"))) if axes is None else axes
    moved = tuple(last_position(axis, dims) for axis in given)
    data = versions.channels_last(call_.arguments[0])
    return {Version.CHANNELS_LAST: recall(call_, (data,), axes=moved)}


def take(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Rows and columns that are taken follow their data; channels are taken channels first."""
    dims = _channels_last_rank(call_, versions)
    axis, places = attribute(call_, "axis"), call_.arguments[1]
    if dims is None or axis is None or rank(places) != 1 or axis % dims == 1:
        return None
    arguments = versions.channels_last(call_.arguments[0]), versions.original(places)
    return {Version.CHANNELS_LAST: recall(call_, arguments, axis=last_position(axis, dims))}


def transpose(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A transpose reads the channels-last value in another order.

    The argument of one that puts the last axis first is what a convolution reads instead.
    """
    if call_ in versions.wanted_channels_last and is_to_channels_first(call_):
        return {Version.CHANNELS_LAST: versions.original(call_.arguments[0])}
    dims = _channels_last_rank(call_, versions)
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
    dims = _channels_last_rank(call_, versions)
    shape = shape_code(call_)
    if dims is None or shape is None or versions.has(call_.arguments[0], Version.ORIGINAL):
        return None
    data = versions.channels_last(call_.arguments[0])
    source = shape_code(data)
    if source is None or len(shape) != 2 or not _same_first_size(call_, data):
        return None
    versions.unflattened[call_] = source
    return {Version.FLAT_CHANNELS_LAST: reshape(data, shape)}


def dense(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A dense layer on a flattened value takes the rows of its constant weight in that order."""
    data, weight = call_.arguments[:2]
    if not versions.was_flattened(data) or not isinstance(weight, Constant):
        return None
    if versions.has(data, Version.ORIGINAL) or attribute(call_, "transpose_a", False):
        return None
    is_transposed = operator_name(call_) == "nn.dense" or attribute(call_, "transpose_b")
    _, *spatial, channels = versions.unflattened[data]
    order = np.arange(weight.data.shape[1 if is_transposed else 0])
    order = np.moveaxis(order.reshape(channels, *spatial), 0, -1).reshape(-1)
    reordered = np.take(weight.data, order, axis=1 if is_transposed else 0)
    flat = versions.existing[data][Version.FLAT_CHANNELS_LAST]
    return {Version.ORIGINAL: recall(call_, (flat, constant_of(reordered)))}


def _same_first_size(first: Expr, second: Expr) -> bool:
    one, other = tensor_type(first), tensor_type(second)
    return one is not None and other is not None and one.shape[0] == other.shape[0]


def _channels_last_rank(call_: Call, versions: Versions) -> int | None:
    """The rank of the first argument if it is channels last already."""
    data = call_.arguments[0]
    dims = rank(data)
    if dims not in CHANNELS_FIRST or Version.CHANNELS_LAST not in versions.existing[data]:
        return None
    return dims


def _reduced_axes(call_: Call, dims: int) -> set[int]:
    axis = attribute(call_, "axis")
    if axis is None:
        return set(range(dims))
    given = {one % dims for one in ((axis,) if isinstance(axis, int) else axis)}
    return set(range(dims)) - given if attribute(call_, "exclude", False) else given
