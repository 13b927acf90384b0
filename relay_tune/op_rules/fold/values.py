"""Results that the types of arguments tell, whatever their elements are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, static_shape
from relay_tune.op_rules.table import OperatorTable

ValueRule: TypeAlias = Callable[[Call], np.ndarray | None]
"""rule(call in a typed program) -> its result, or None if the types do not tell."""


def value_from_type(node: Expr) -> np.ndarray | None:
    """The result of a call that asks for a shape, where the type knows it."""
    rule = VALUES.rule_of(node)
    return rule(node) if rule is not None and isinstance(node, Call) else None


def _shape(call: Call) -> np.ndarray | None:
    shape = static_shape(call.arguments[0])
    return None if shape is None else np.asarray(shape, dtype=_dtype(call))


def _size(call: Call) -> np.ndarray | None:
    shape = static_shape(call.arguments[0])
    if shape is None:
        return None
    return np.asarray(np.prod(shape, dtype=np.int64), dtype=_dtype(call))


def _dtype(call: Call) -> str:
    return attribute(call, "dtype", "int32") or "int32"


VALUES: OperatorTable[ValueRule] = OperatorTable({"shape_of": _shape, "ndarray_size": _size})
