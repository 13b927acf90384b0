"""Adjoints of writes at positions that are data.

An element that is overwritten has no adjoint; of several updates of one element, the last one has.
Where the largest or smallest is kept, the first one has: the data, then the updates in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import minus, number, product, quotient, zeros_of
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of, reshape
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Positions:
    """The positions that a call writes to, whatever operator it calls.

    Attributes:
        read: read(tensor) -> its elements at these positions, one for each update.
        write: write(tensor, updates, reduction) -> the tensor after updates joined it.
    """

    read: Callable[[Expr], Expr]
    write: Callable[[Expr, Expr, str], Expr]


_Rule = Callable[[Differentiated, _Positions], tuple[Adjoint, Adjoint] | None]
"""rule(call, positions) -> the adjoints of the data and of the updates."""


def _scatter_elements(known: Differentiated) -> Sequence[Adjoint] | None:
    indices, axis = known.call.arguments[1], attributes_of(known.call).axis

    def read(tensor: Expr) -> Expr:
        return call("gather", tensor, indices, axis=axis)

    def write(tensor: Expr, updates: Expr, reduction: str) -> Expr:
        return call("scatter_elements", tensor, indices, updates, axis=axis, reduction=reduction)

    if _shape(indices) != _shape(known.call.arguments[2]):
        return None
    return _adjoints(known, attributes_of(known.call).reduction, _Positions(read, write))


def _scatter_nd(known: Differentiated) -> Sequence[Adjoint] | None:
    indices = known.call.arguments[1]

    def read(tensor: Expr) -> Expr:
        return call("gather_nd", tensor, indices)

    def write(tensor: Expr, updates: Expr, reduction: str) -> Expr:
        return call("scatter_nd", tensor, indices, updates, mode=reduction)

    return _adjoints(known, attributes_of(known.call).mode, _Positions(read, write))


def _adjoints(
    known: Differentiated, reduction: str, positions: _Positions
) -> Sequence[Adjoint] | None:
    found = _BY_REDUCTION[reduction](known, positions)
    return None if found is None else (found[0], None, found[1])


def _of_sum(known: Differentiated, positions: _Positions) -> tuple[Adjoint, Adjoint]:
    return known.tensor, positions.read(known.tensor)


def _of_last(known: Differentiated, positions: _Positions) -> tuple[Adjoint, Adjoint] | None:
    data, _, updates = known.call.arguments
    shape = static_shape(updates)
    if shape is None:
        return None
    numbers = _numbers(shape)
    last = positions.write(_everywhere(-1, data), numbers, "update")
    rest = positions.write(known.tensor, zeros_of(updates), "update")
    return rest, _where(call("equal", positions.read(last), numbers), positions.read(known.tensor))


def _of_extreme(known: Differentiated, positions: _Positions) -> tuple[Adjoint, Adjoint] | None:
    data, _, updates = known.call.arguments
    shape = static_shape(updates)
    if shape is None:
        return None
    numbers = _numbers(shape)
    is_kept = call("equal", data, known.result)
    none = _everywhere(prod(shape), data)
    before = call("where", is_kept, _everywhere(-1, data), none)
    reaches = call("equal", updates, positions.read(known.result))
    candidates = call("where", reaches, numbers, positions.read(none))
    first = positions.read(positions.write(before, candidates, "min"))
    adjoint = positions.read(known.tensor)
    return _where(is_kept, known.tensor), _where(call("equal", first, numbers), adjoint)


def _of_product(known: Differentiated, positions: _Positions) -> tuple[Adjoint, Adjoint]:
    """Each factor has the product of the others at its position.

    It is that of all, without zeros, over the factor, times the zeros among the others: one is
    a factor of its own, for derivatives of this one; where there are more, nothing else counts.
    """
    data, _, updates = known.call.arguments

    def joined(of: Callable[[Expr], Expr], reduction: str) -> Expr:
        return positions.write(of(data), of(updates), reduction)

    total = joined(_not_zero, "mul")
    count, zeros = joined(_is_zero, "add"), joined(_zero_part, "add")

    def others(factor: Expr, at: Callable[[Expr], Expr]) -> Expr:
        rest = quotient(at(total), _not_zero(factor))
        left = minus(at(count), _is_zero(factor))
        one_zero = product(rest, minus(at(zeros), _zero_part(factor)))
        several = _where(call("equal", left, number(1.0, left)), one_zero)
        return call("where", call("equal", left, number(0.0, left)), rest, several)

    return (
        product(known.tensor, others(data, lambda tensor: tensor)),
        product(positions.read(known.tensor), others(updates, positions.read)),
    )


_BY_REDUCTION: Mapping[str, _Rule] = MappingProxyType(
    {
        "add": _of_sum,
        "update": _of_last,
        "max": _of_extreme,
        "min": _of_extreme,
        "mul": _of_product,
    }
)


def _not_zero(value: Expr) -> Expr:
    return call("where", _equals_zero(value), number(1.0, value), value)


def _is_zero(value: Expr) -> Expr:
    type_ = tensor_type(value)
    assert type_ is not None
    return call("cast", _equals_zero(value), dtype=type_.dtype)


def _zero_part(value: Expr) -> Expr:
    return _where(_equals_zero(value), value)


def _equals_zero(value: Expr) -> Expr:
    return call("equal", value, number(0.0, value))


def _where(condition: Expr, value: Expr) -> Expr:
    return call("where", condition, value, number(0.0, value))


def _numbers(shape: tuple[int, ...]) -> Expr:
    """The number of each element of a tensor."""
    return reshape(call("arange", start=0, stop=prod(shape), step=1, dtype="int64"), shape)


def _everywhere(value: int, like: Expr) -> Expr:
    """An integer in the shape of a tensor."""
    return call("full_like", call("cast", like, dtype="int64"), _integer(value))


def _integer(value: int) -> Expr:
    return constant_of(np.asarray(value, dtype=np.int64))


def _shape(value: Expr) -> object:
    type_ = tensor_type(value)
    return None if type_ is None else type_.shape


RULES: GradientRules = {
    "scatter_elements": GradientRule(_scatter_elements),
    "scatter_nd": GradientRule(_scatter_nd),
}
