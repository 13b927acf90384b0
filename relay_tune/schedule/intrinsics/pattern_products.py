"""The products of a nest that has the pattern of an intrinsic, and how their operands lie."""

from __future__ import annotations

from collections.abc import Container, Iterator

from relay_tune.machine.pattern import TilePattern
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Binary, Cast, Load, Scalar
from relay_tune.tensor.size import is_symbolic


def products_of(nest: Nest) -> tuple[tuple[Load, Load], ...]:
    """The products that a nest adds up, if they are those of its pattern and lie alike."""
    pattern = nest.pattern
    if pattern is None or nest.operation != "sum":
        return ()
    if nest.body is None or nest.body.dtype != pattern.result:
        return ()
    terms = tuple(_terms(nest.body, pattern))
    known = tuple(term for term in terms if term is not None)
    if len(known) < len(terms) or any(axis_affine(load.indices[0]) is None for load in known[0]):
        return ()
    return known if _agree(known) else ()


def _terms(body: Scalar, pattern: TilePattern) -> Iterator[tuple[Load, Load] | None]:
    """The products that a body adds up; None for what is none of the pattern's operands."""
    match body:
        case Binary(operation="add"):
            yield from _terms(body.left, pattern)
            yield from _terms(body.right, pattern)
        case Binary(
            operation="mul", left=Cast(operand=Load() as a), right=Cast(operand=Load() as b)
        ):
            both = (a.dtype, b.dtype) == (pattern.left, pattern.right)
            both = both and len(a.indices) == len(b.indices) == 1
            yield (a, b) if both else None
        case _:
            yield None


def _agree(terms: tuple[tuple[Load, Load], ...]) -> bool:
    """Whether the operands of all products lie alike, the left ones in one tensor.

    Parts of the right operand may be tensors of their own.
    """
    for side in (0, 1):
        first = terms[0][side]
        for term in terms:
            form = axis_affine(term[side].indices[0])
            if form is None or form.terms != form_of(first).terms:
                return False
            if side == 0 and term[side].tensor is not first.tensor:
                return False
    return True


def form_of(load: Load) -> Affine:
    """Where an operand lies in its tensor, as an affine form."""
    form = axis_affine(load.indices[0])
    assert form is not None
    return form


def axis_between(
    axes: tuple[Axis, ...],
    extents: Container[int] | None,
    left: Affine,
    a: int,
    right: Affine,
    b: int,
) -> Axis | None:
    """The axis of such an extent, or any, along which the operands' elements lie so far apart."""
    for axis in axes:
        if extents is not None and (is_symbolic(axis.extent) or axis.extent not in extents):
            continue
        if (left.coefficient(axis), right.coefficient(axis)) == (a, b):
            return axis
    return None
