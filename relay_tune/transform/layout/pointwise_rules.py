"""Element-by-element operators, concatenation, and operators along one axis, channels last."""

from __future__ import annotations

from dataclasses import fields
from math import prod

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.op_rules.matching import attribute, example_shape, rank, tensor_type
from relay_tune.op_rules.typed import recall, tuple_of
from relay_tune.transform.layout.versions import (
    CHANNELS_FIRST,
    Version,
    Versions,
    last_position,
)

POSITIONAL_ATTRIBUTES = frozenset(
    {"axis", "axes", "shape", "newshape", "reps", "repeats", "k", "num_newaxis", "layout"}
)
"""Attributes that show that an operator does not treat all axes alike."""

AXIS_OPERATORS = (
    "nn.softmax",
    "nn.log_softmax",
    "nn.fast_softmax",
    "nn.lrn",
    "nn.bias_add",
    "nn.prelu",
    "nn.l2_normalize",
    "cumsum",
    "cumprod",
)
"""Operators that keep the shape of their first argument; their attribute `axis` names axes."""


def pointwise(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Arithmetic on values of which some are channels last goes the cheaper way."""
    dims = rank(call_)
    if not is_pointwise(call_):
        return None
    if len(call_.arguments) == 1 and versions.was_flattened(call_.arguments[0]):
        return _flat(call_, versions)
    if dims not in CHANNELS_FIRST or not _channels_last_is_cheaper(call_.arguments, versions):
        return None
    if any(tensor_type(argument) is None for argument in call_.arguments):
        return None
    arguments = [versions.broadcast_channels_last(a, dims) for a in call_.arguments]
    return {Version.CHANNELS_LAST: recall(call_, arguments)}


def concatenate(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """A concatenation goes the way that moves fewer elements."""
    parts, dims = call_.arguments[0], rank(call_)
    if not isinstance(parts, Tuple) or dims not in CHANNELS_FIRST:
        return None
    if not _channels_last_is_cheaper(parts.fields, versions):
        return None
    fields_ = [versions.channels_last(part) for part in parts.fields]
    axis = last_position(attribute(call_, "axis"), dims)
    return {Version.CHANNELS_LAST: recall(call_, (tuple_of(fields_),), axis=axis)}


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


def is_pointwise(call_: Call) -> bool:
    """Whether an element of the result depends on the elements at its place only."""
    operator, type_ = call_.callee, tensor_type(call_)
    if not isinstance(operator, Operator) or operator.kind > FusionKind.BROADCAST or type_ is None:
        return False
    names = {field.name for field in fields(call_.attributes)} if call_.attributes else set()
    if names & POSITIONAL_ATTRIBUTES or not call_.arguments:
        return False
    types = [tensor_type(argument) for argument in call_.arguments]
    return any(one is not None and one.shape == type_.shape for one in types)


def _flat(call_: Call, versions: Versions) -> dict[Version, Expr]:
    source = call_.arguments[0]
    flat = versions.existing[source][Version.FLAT_CHANNELS_LAST]
    versions.unflattened[call_] = versions.unflattened[source]
    return {Version.FLAT_CHANNELS_LAST: recall(call_, (flat,))}


def _channels_last_is_cheaper(arguments: tuple[Expr, ...], versions: Versions) -> bool:
    """Whether fewer elements have to be moved for channels last than for the original order."""
    if not any(Version.CHANNELS_LAST in versions.existing[a] for a in arguments):
        return False
    to_last = _moved_elements(arguments, versions, Version.CHANNELS_LAST)
    return to_last <= _moved_elements(arguments, versions, Version.ORIGINAL)


def _moved_elements(arguments: tuple[Expr, ...], versions: Versions, wanted: Version) -> int:
    missing = {a for a in arguments if not versions.has(a, wanted)}
    return sum(prod(example_shape(a)) for a in missing if rank(a))
