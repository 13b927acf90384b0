"""Which calls on constants are computed at import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relay_tune.errors import CONSTANT, INITIALIZER, NodeSpan
from relay_tune.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.types import TensorType, TupleType, Type

LARGEST_FOLDED_TENSOR = 1 << 16
"""Elements of the largest tensor of what is computed at import, where all inputs are known."""

LARGEST_FOLDED_CONTRACTION = 1 << 12
"""The same for products and convolutions, whose elements take longer."""

MOST_DEFERRED_CALLS = 64
"""Calls and constants that a value is made of which is known though it was left to builds."""


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


def known_value(expr: Expr) -> Any:
    """The value of constants, or of calls on few of them; None if it is not constant."""
    value = constant_value(expr)
    return deferred_value(expr) if value is None else value


def deferred_value(expr: Expr) -> Any:
    """The value of calls on few constants that were not computed when they were made, or None.

    A call is followed to the constants that it is made of, over `MOST_DEFERRED_CALLS` at most.
    """
    values: dict[Expr, Any] = {}
    pending = [expr]
    while pending:
        node = pending[-1]
        parts = _parts(node)
        if parts is None or len(values) + len(pending) > MOST_DEFERRED_CALLS:
            return None
        missing = [part for part in parts if part not in values]
        if missing:
            pending.append(missing[0])
            continue
        value = _computed(pending.pop(), [values[part] for part in parts])
        if value is None:
            return None
        values[node] = value
    return values[expr]


def _parts(expr: Expr) -> Sequence[Expr] | None:
    """Parts of a constant value; None where it is not constant, or too large."""
    match expr:
        case Constant():
            return ()
        case Tuple():
            return expr.fields
        case TupleGetItem():
            return (expr.tuple_value,)
        case Call(callee=Operator() as operator) if expr.type is not None:
            return expr.arguments if is_foldable(operator, (), expr.type) else None
        case _:
            return None


def _computed(expr: Expr, values: Sequence[Any]) -> Any:
    match expr:
        case Constant():
            return expr.data
        case Tuple():
            return tuple(values)
        case TupleGetItem():
            return values[0][expr.index]
    assert isinstance(expr, Call)
    assert isinstance(expr.callee, Operator)
    assert expr.type is not None
    if not is_foldable(expr.callee, values, expr.type):
        return None
    with np.errstate(all="ignore"):
        found = expr.callee.reference(expr.attributes, *values)
    return tuple(found) if isinstance(expr.type, TupleType) else np.asarray(found)


def is_of_weights(arguments: Sequence[Expr], result: Type) -> bool:
    """Whether a call makes floats of a weight of the file, which can be trained.

    It stays a call, whose argument has the name and the shape that the file gives it: a weight
    that is read in two forms is one weight for derivatives. Builds compute it once.
    """
    return is_of_floats(result) and any(is_weight(each) for each in arguments)


def of_file(value: Expr, arguments: Sequence[Expr]) -> Expr:
    """A value computed from constants, marked as one of the file's where an argument is.

    Others belong to what a node means, as the coefficients of Resize: no training changes them.
    """
    for argument in arguments:
        span = argument.span
        if (
            isinstance(argument, Constant)
            and isinstance(span, NodeSpan)
            and span.operator in (INITIALIZER, CONSTANT)
        ):
            return _placed(value, NodeSpan.of(span.name, CONSTANT))
    return value


def _placed(value: Expr, span: NodeSpan) -> Expr:
    if isinstance(value, Tuple):
        return replace(value, fields=tuple(_placed(field, span) for field in value.fields))
    return replace(value, span=span)


def is_of_floats(type_: Type) -> bool:
    """Whether a value has a tensor of floats."""
    return any(is_float_type(leaf) for leaf in _leaves(type_))


def is_weight(expr: Expr) -> bool:
    """Whether a value is a weight of the file, or made of constants one of which is."""
    match expr:
        case Constant():
            span, type_ = expr.span, expr.type
            named = isinstance(span, NodeSpan) and span.operator == INITIALIZER
            return named and type_ is not None and is_float_type(type_)
        case Tuple():
            return any(is_weight(field) for field in expr.fields)
        case _:
            return False


def is_float_type(type_: Type) -> bool:
    """Whether a type is that of a tensor of floats."""
    return isinstance(type_, TensorType) and type_.dtype.startswith(("float", "bfloat"))


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
