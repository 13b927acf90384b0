"""Adjoints of tensors that are joined along an axis, or cut apart."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, TupleGetItem
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op_rules.gradient.expressions import zeros_of
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, tensor_type
from relay_tune.op_rules.typed import call, slice_of, tuple_of


def part_along(value: Expr, axis: int, begin: int, size: int) -> Expr:
    """`size` elements of an axis from `begin` on, all of the others."""
    type_ = tensor_type(value)
    assert type_ is not None
    first = [0] * len(type_.shape)
    last = list(type_.shape)
    first[axis], last[axis] = begin, begin + size
    return slice_of(value, first, last)


def _fields(value: Expr) -> tuple[TensorType, ...]:
    """The types of the tensors of a tuple."""
    assert isinstance(value.type, TupleType)
    return tuple(part for part in value.type.fields if isinstance(part, TensorType))


def _concatenate(known: Differentiated) -> tuple[Adjoint] | None:
    (tensors,) = known.call.arguments
    parts = _fields(tensors)
    axis = attributes_of(known.call).axis % len(parts[0].shape)
    found: list[Adjoint] = []
    begin = 0
    for part in parts:
        size = part.shape[axis]
        if not isinstance(size, int):
            return None
        found.append(part_along(known.tensor, axis, begin, size))
        begin += size
    return (tuple(found),)


def _stack(known: Differentiated) -> tuple[Adjoint]:
    (tensors,) = known.call.arguments
    parts = _fields(tensors)
    axis = attributes_of(known.call).axis % (len(parts[0].shape) + 1)
    return (
        tuple(
            call("squeeze", part_along(known.tensor, axis, index, 1), axis=(axis,))
            for index in range(len(parts))
        ),
    )


def _split(known: Differentiated) -> tuple[Adjoint]:
    """The parts' adjoints joined again, zeros for those that have none."""
    assert isinstance(known.adjoint, tuple)
    (data,) = known.call.arguments
    parts = _fields(known.result)
    axis = attributes_of(known.call).axis % len(parts[0].shape)
    joined = [
        each
        if isinstance(each, Expr)
        else zeros_of(TupleGetItem(known.result, index, type=parts[index]))
        for index, each in enumerate(known.adjoint)
    ]
    return (call("concatenate", tuple_of(joined), axis=axis),)


RULES: GradientRules = {
    "concatenate": GradientRule(_concatenate),
    "stack": GradientRule(_stack),
    "split": GradientRule(_split),
}
