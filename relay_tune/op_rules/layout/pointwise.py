"""Element-by-element operators, which need no rule of their own, in channels-last order."""

from __future__ import annotations

from dataclasses import fields

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.op_rules.layout.versions import (
    CHANNELS_FIRST,
    Version,
    Versions,
    channels_last_is_cheaper,
)
from relay_tune.op_rules.matching import rank, tensor_type
from relay_tune.op_rules.typed import recall

POSITIONAL_ATTRIBUTES = frozenset(
    {"axis", "axes", "shape", "newshape", "reps", "repeats", "k", "num_newaxis", "layout"}
)
"""Attributes that show that an operator does not treat all axes alike."""


def pointwise(call_: Call, versions: Versions) -> dict[Version, Expr] | None:
    """Arithmetic on values of which some are channels last goes the cheaper way."""
    dims = rank(call_)
    if not is_pointwise(call_):
        return None
    if len(call_.arguments) == 1 and versions.was_flattened(call_.arguments[0]):
        return _flat(call_, versions)
    if dims not in CHANNELS_FIRST or not channels_last_is_cheaper(call_.arguments, versions):
        return None
    if any(tensor_type(argument) is None for argument in call_.arguments):
        return None
    arguments = [versions.broadcast_channels_last(a, dims) for a in call_.arguments]
    return {Version.CHANNELS_LAST: recall(call_, arguments)}


def is_pointwise(call_: Call) -> bool:
    """Whether an element of the result depends only on the elements at its index."""
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
