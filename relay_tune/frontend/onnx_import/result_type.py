"""Types of operator calls whose arguments have types, also where sizes meet other names.

    Tensor[(n, 8)] + Tensor[(m, 8)]    is    Tensor[(n, 8)] + Tensor[(?, 8)]    of type (n, 8)

A file may call one size by two names, or leave it without one. Such sizes are equal in any run that
makes sense; so one of them is forgotten, and the program compares them when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay_tune.ir.dim import UNKNOWN, Dim, Polynomial, Symbol
from relay_tune.ir.dim_arithmetic import subtract
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Expr, Tuple
from relay_tune.ir.operator import Operator, RelationError
from relay_tune.ir.types import IncompleteType, TensorType, TupleType, Type
from relay_tune.typing.type_text import type_text

Axis = tuple[int, int, int]
"""An axis of an argument: argument, field where it is a tuple, axis."""


class _KnownTypes:
    """The solver that relations ask when all types are known: nothing is left to solve."""

    def unify(self, left: Type, right: Type) -> Type:
        """The common type, where `?` fits any size; RelationError if they differ."""
        if left == right:
            return left
        if isinstance(left, TensorType) and isinstance(right, TensorType):
            pairs = list(zip(left.shape, right.shape, strict=False))
            fits = all(a == b or UNKNOWN in (a, b) for a, b in pairs)
            if fits and len(left.shape) == len(right.shape) and left.dtype == right.dtype:
                return TensorType(tuple(b if a == UNKNOWN else a for a, b in pairs), left.dtype)
        raise RelationError(f"{type_text(left)} and {type_text(right)} are different types")

    def resolve(self, type_: Type) -> Type:
        """The type itself."""
        return type_


_CONTEXT = _KnownTypes()


def result_type(operator: Operator, attributes: Any, types: Sequence[Type]) -> Type:
    """The type of a call; RelationError if the types contradict the operator's rule."""
    result = operator.relation(types, attributes, _CONTEXT)
    if result is None or isinstance(result, IncompleteType):
        raise RelationError(f"operator {operator.name} leaves its result type open")
    return result


def with_open_sizes(
    operator: Operator,
    attributes: Any,
    arguments: Sequence[Expr],
    with_shape: Callable[[Expr, Sequence[Dim]], Expr],
) -> tuple[list[Expr], Type] | None:
    """Arguments with `?` for as few symbolic sizes as give a type, and that type; None if none do.

    Sizes that may be 1 are forgotten rather than others, because they may be stretched then, and
    those of later arguments rather than those of earlier ones.
    `with_shape` gives an expression other sizes.
    """
    symbolic = _symbolic_axes(arguments)
    kept: frozenset[Axis] = frozenset(symbolic)
    result = _type_with(operator, attributes, arguments, kept)
    if result is None:
        return None
    for axis in symbolic:
        fewer = _type_with(operator, attributes, arguments, kept - {axis})
        if fewer is not None:
            kept, result = kept - {axis}, fewer
    return [_opened(n, each, kept, with_shape) for n, each in enumerate(arguments)], result


def _type_with(
    operator: Operator, attributes: Any, arguments: Sequence[Expr], axes: frozenset[Axis]
) -> Type | None:
    """The type of a call with `?` for some axes, or None where it has none."""
    types = [_opened_type(n, each, axes) for n, each in enumerate(arguments)]
    try:
        return result_type(operator, attributes, types)
    except RelationError:
        return None


def _symbolic_axes(arguments: Sequence[Expr]) -> list[Axis]:
    """The axes of arguments whose sizes can be forgotten; those that are never 1 come first."""
    found = {
        (number, field, axis): dim
        for number, argument in enumerate(arguments)
        for field, tensor in enumerate(_tensors(argument))
        for axis, dim in enumerate(tensor.shape)
        if isinstance(dim, Symbol | Polynomial)
    }
    return sorted(found, key=lambda axis: not is_never_negative(subtract(found[axis], 2)))


def _tensors(argument: Expr) -> list[TensorType]:
    """The types of the tensors that an argument is made of, as far as they can be told apart."""
    fields = argument.fields if isinstance(argument, Tuple) else (argument,)
    types = [field.type for field in fields]
    tensors = [type_ for type_ in types if isinstance(type_, TensorType)]
    return tensors if len(tensors) == len(types) else []


def _opened_type(number: int, argument: Expr, axes: frozenset[Axis]) -> Type:
    tensors = _tensors(argument)
    if not tensors:
        assert argument.type is not None  # the builder gives every expression a type
        return argument.type
    types = [
        TensorType(_open_shape(number, field, tensor, axes), tensor.dtype)
        for field, tensor in enumerate(tensors)
    ]
    return TupleType(tuple(types)) if isinstance(argument, Tuple) else types[0]


def _opened(
    number: int,
    argument: Expr,
    axes: frozenset[Axis],
    with_shape: Callable[[Expr, Sequence[Dim]], Expr],
) -> Expr:
    tensors = _tensors(argument)
    shapes = [_open_shape(number, field, tensor, axes) for field, tensor in enumerate(tensors)]
    if not isinstance(argument, Tuple):
        return with_shape(argument, shapes[0]) if shapes else argument
    fields = [with_shape(f, s) for f, s in zip(argument.fields, shapes, strict=True)]
    type_ = TupleType(tuple(f.type for f in fields if f.type is not None))
    return Tuple(tuple(fields), type=type_)


def _open_shape(
    number: int, field: int, tensor: TensorType, axes: frozenset[Axis]
) -> tuple[Dim, ...]:
    return tuple(
        UNKNOWN if (number, field, axis) in axes else dim for axis, dim in enumerate(tensor.shape)
    )
