"""Where indices come from: operators that only move or widen integers.

A check of indices stands before these, where the indices enter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.types import TensorType, Type
from relay_tune.op_rules.matching import attribute
from relay_tune.op_rules.table import OperatorTable
from relay_tune.tensor.scalar_semantics import numpy_dtype

Source: TypeAlias = tuple[Expr, int | None]
"""Indices, and the axis along which coordinates stand; None: each index is for itself."""

SourceRule: TypeAlias = Callable[[Call, int | None], Source | None]
"""rule(call, axis of coordinates of its result) -> what it moves; None if that is not the same."""


def source_of(node: Expr, axis: int | None) -> Source | None:
    """Source of a call that only moves or widens, and its coordinate axis; None of other nodes."""
    rule = SOURCES.rule_of(node)
    return rule(node, axis) if rule is not None and isinstance(node, Call) else None


def _cast(call: Call, axis: int | None) -> Source | None:
    source = call.arguments[0]
    return (source, axis) if _widens(source.type, call.type) else None


def _widens(source: Type | None, target: Type | None) -> bool:
    """Whether a cast of one integer type to another keeps every value."""
    if not isinstance(source, TensorType) or not isinstance(target, TensorType):
        return False
    is_integer = source.dtype.startswith(("int", "uint"))
    return is_integer and np.can_cast(numpy_dtype(source.dtype), numpy_dtype(target.dtype))


def _moved(call: Call, axis: int | None) -> Source | None:
    return (call.arguments[0], None) if axis is None else None


def _transposed(call: Call, axis: int | None) -> Source | None:
    axes = attribute(call, "axes")
    if axis is None or not axes:
        return _moved(call, axis)
    return call.arguments[0], axes[axis] % len(axes)


SOURCES: OperatorTable[SourceRule] = OperatorTable(
    {
        "cast": _cast,
        "transpose": _transposed,
        **dict.fromkeys(("reshape", "expand_dims", "squeeze", "copy", "decisive"), _moved),
    }
)
