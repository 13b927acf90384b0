"""Which calls on constants are computed at import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import TensorType, TupleType, Type

LARGEST_FOLDED_TENSOR = 1 << 16
"""Elements of the largest tensor of what is computed at import, where all inputs are known."""

LARGEST_FOLDED_CONTRACTION = 1 << 12
"""The same for products and convolutions, whose elements take longer."""


def constant_value(expr: Expr) -> Any:
    """The value of a constant or of a tuple of constants; None if it is not constant."""
    match expr:
        case Constant():
            return expr.data
        case Tuple():
            values = tuple(constant_value(field) for field in expr.fields)
            return None if any(value is None for value in values) else values
        case _:
            return None


def deferred_value(expr: Expr) -> np.ndarray | None:
    """The value of a call on few constants that was not computed when it was made, or None."""
    if not isinstance(expr, Call) or not isinstance(expr.callee, Operator) or expr.type is None:
        return None
    values = [constant_value(each) for each in expr.arguments]
    if not is_foldable(expr.callee, values, expr.type):
        return None
    return np.asarray(expr.callee.reference(expr.attributes, *values))


def is_foldable(operator: Operator, values: Sequence[Any], result: Type) -> bool:
    """Whether a call is computed at import: all its values are known, and few."""
    if operator.stateful or any(value is None for value in values):
        return False
    limit = LARGEST_FOLDED_TENSOR
    if operator.kind is FusionKind.OUTPUT_FUSABLE:
        limit = LARGEST_FOLDED_CONTRACTION
    sizes = [_element_count(type_) for type_ in _leaves(result)]
    sizes += [part.size for value in values for part in _arrays(value)]
    return all(0 <= size <= limit for size in sizes)


def _leaves(type_: Type) -> Sequence[Type]:
    return type_.fields if isinstance(type_, TupleType) else (type_,)


def _arrays(value: Any) -> Sequence[np.ndarray]:
    return value if isinstance(value, tuple) else (value,)


def _element_count(type_: Type) -> int:
    """The number of elements; -1 if it is not known."""
    if not isinstance(type_, TensorType):
        return -1
    sizes = [dim for dim in type_.shape if isinstance(dim, int)]
    return math.prod(sizes) if len(sizes) == len(type_.shape) else -1
