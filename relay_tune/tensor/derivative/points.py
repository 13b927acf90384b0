"""The points at which a tensor is computed, and how much of its element each of them is.

An element of a sum over k is made at all points of k. Its change is the sum of the changes at the
points; that of a maximum is the change at the first point where the maximum is, and that of a
product the sum of the changes times the product of all other factors, which is right with zeros
among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.derivative.other_factors import other_factors
from relay_tune.tensor.derivative.refusal import UnderivableError
from relay_tune.tensor.derivative.scalar_adjoints import guarded
from relay_tune.tensor.derivative.scatter import Scattered
from relay_tune.tensor.derivative.slopes import widened, zero_of
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Reduce,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    reduce,
    select,
)
from relay_tune.tensor.size import surely_less
from relay_tune.tensor.tensor import Computed, Procedure, ProcedureOutput, compute
from relay_tune.tensor.walk import share_equal, substitute

_INT32_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Points:
    """Where a tensor is computed.

    Attributes:
        axes: the axes of the points.
        body: what is computed at each; no reduction.
        seed: a tensor shaped like the result (its adjoint) -> the adjoint of `body` at the points.
        weighed: a change of `body` -> how much the result changes by it.
        target: the indices of the element that a point belongs to.
    """

    axes: tuple[Axis, ...]
    body: Scalar
    seed: Callable[[Tensor], Scalar]
    weighed: Callable[[Scalar], Scalar]
    target: tuple[Scalar, ...]


def points_of(tensor: Tensor) -> list[Points]:
    """The points of a computed tensor; UnderivableError for the result of another loop nest."""
    match tensor:
        case Computed(body=Reduce()):
            return [_reduced_points(tensor)]
        case Computed():
            return [_points(tensor.axes, share_equal(tensor.body), tensor.axes, _unchanged)]
        case Scattered():
            return [_scattered_points(tensor, number) for number in range(len(tensor.values))]
        case ProcedureOutput():
            raise _underivable(tensor.procedure)
    raise UnderivableError(f"The tensor {tensor.name} is not computed from others.")


def _underivable(procedure: Procedure) -> UnderivableError:
    return UnderivableError(
        f"No derivative is derived of {procedure.name}, which is a loop nest, not an expression.",
        remedy="Write a rule in relay_tune.op_rules.gradient.",
    )


def _unchanged(change: Scalar) -> Scalar:
    return change


def _points(
    axes: tuple[Axis, ...],
    body: Scalar,
    target: tuple[Scalar, ...],
    weighed: Callable[[Scalar], Scalar],
) -> Points:
    def seed(adjoint: Tensor) -> Scalar:
        return weighed(widened(adjoint[target]))

    return Points(axes, body, seed, weighed, target)


def _scattered_points(tensor: Scattered, number: int) -> Points:
    guard, value = tensor.values[number]
    return _points(tensor.points, value, tensor.places, lambda change: guarded(change, guard))


def _reduced_points(tensor: Computed) -> Points:
    reduction = tensor.body
    assert isinstance(reduction, Reduce)
    axes = tensor.axes + reduction.axes
    body = share_equal(reduction.body)
    match reduction.operation:
        case "sum":
            return _points(axes, body, tensor.axes, _unchanged)
        case "prod":
            others = other_factors(tensor)
            return _points(axes, body, tensor.axes, lambda change: change * widened(others))
    winner = _winner(tensor, reduction)[tensor.axes]
    wins = binary("eq", _number(reduction.axes, winner.dtype), winner)
    return _points(axes, body, tensor.axes, lambda change: select(wins, change, zero_of(change)))


def _winner(tensor: Computed, reduction: Reduce) -> Tensor:
    """The number of the first point of each element at which the reduced value is the result."""
    count = prod(axis.extent for axis in reduction.axes)
    dtype = "int32" if surely_less(count, _INT32_COUNT) else INDEX

    def element(*indices: Scalar) -> Scalar:
        fresh = [Axis(axis.name, axis.extent) for axis in reduction.axes]
        named = dict(zip(tensor.axes + reduction.axes, (*indices, *fresh), strict=True))
        value = substitute(reduction.body, named)
        found = binary("eq", value, tensor[indices])
        number = select(found, _number(fresh, dtype), literal(count, dtype))
        return reduce("min", fresh, number)

    return compute(f"{tensor.name}_winner", tensor.shape, element)


def _number(axes: Sequence[Axis], dtype: str) -> Scalar:
    """The row-major number of a point of axes."""
    total: Scalar = literal(0, INDEX)
    for axis in axes:
        total = total * axis.extent + axis
    return cast(total, dtype)
