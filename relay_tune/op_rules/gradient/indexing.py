"""Adjoints of lookups by index: adjoints are added up where their elements were read.

Indices outside of an axis are forced into it, or counted from its end, as the lookup does it.
"""

from __future__ import annotations

from math import prod

import numpy as np

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import shaped_like, zeros_of
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, constant_of, recall, reshape
from relay_tune.tensor.scalar_semantics import numpy_dtype


def _take(known: Differentiated) -> tuple[Adjoint, None] | None:
    data, indices = known.call.arguments
    attributes = attributes_of(known.call)
    shape = static_shape(data)
    if attributes.batch_dims or shape is None:
        return None
    table, axis = (data, attributes.axis) if attributes.axis is not None else (_flat(data), 0)
    axis %= len(shape)
    inside = _inside(indices, shape[axis] if table is data else prod(shape), attributes.mode)
    rows = _rows_added(table, axis, inside, known.tensor)
    return shaped_like(rows, data), None


def _flat(data: Expr) -> Expr:
    return reshape(data, (-1,))


def _inside(indices: Expr, size: int, mode: str) -> Expr:
    """The indices that are read, of an axis of `size` elements."""
    type_ = tensor_type(indices)
    assert type_ is not None
    if mode == "raise":
        return indices
    dtype = numpy_dtype(type_.dtype)
    if mode == "wrap":
        return call("floor_mod", indices, constant_of(dtype.type(size).reshape(())))
    low, high = (constant_of(dtype.type(bound).reshape(())) for bound in (0, size - 1))
    return call("minimum", call("maximum", indices, low), high)


def _rows_added(table: Expr, axis: int, indices: Expr, adjoint: Expr) -> Expr:
    """Zeros in the shape of `table`, with the rows of the adjoint added at the indices."""
    given, chosen = tensor_type(table), tensor_type(indices)
    assert given is not None and chosen is not None
    rank, extra = len(given.shape), len(chosen.shape)
    gathered = tuple(range(axis, axis + extra))
    others = tuple(n for n in range(rank - 1 + extra) if n not in gathered)
    first = (axis, *(n for n in range(rank) if n != axis))
    rows = zeros_of(_moved(table, first))
    moved = _moved(adjoint, (*gathered, *others))
    coordinates = call("expand_dims", indices, axis=0)
    total = call("scatter_nd", rows, coordinates, moved, mode="add")
    return _moved(total, tuple(first.index(n) for n in range(rank)))


def _moved(value: Expr, axes: tuple[int, ...]) -> Expr:
    return value if axes == tuple(range(len(axes))) else call("transpose", value, axes=axes)


def _gather(known: Differentiated) -> tuple[Adjoint, None]:
    data, indices = known.call.arguments
    axis = attributes_of(known.call).axis
    zeros = zeros_of(data)
    return (
        call("scatter_elements", zeros, indices, known.tensor, axis=axis, reduction="add"),
        None,
    )


def _copied(known: Differentiated) -> tuple[Adjoint, ...]:
    """The same copies of the numbers of the elements say where each was read."""
    data, *others = known.call.arguments
    numbers = shaped_like(_numbers(data), data)
    read = call("expand_dims", recall(known.call, (numbers, *others)), axis=0)
    total = call("scatter_nd", zeros_of(_flat(data)), read, known.tensor, mode="add")
    return (shaped_like(total, data), *[None] * len(others))


def _numbers(data: Expr) -> Expr:
    """0, 1, .. for each element of a tensor."""
    shape = static_shape(data)
    if shape is not None:
        return constant_of(np.arange(prod(shape), dtype=np.int64))
    ones = call("cast", call("ones_like", _flat(data)), dtype="int64")
    return call("cumsum", ones, exclusive=True)


def _gather_nd(known: Differentiated) -> tuple[Adjoint, None] | None:
    data, indices = known.call.arguments
    if attributes_of(known.call).batch_dims:
        return None
    return call("scatter_nd", zeros_of(data), indices, known.tensor, mode="add"), None


RULES: GradientRules = {
    "take": GradientRule(_take),
    "gather": GradientRule(_gather),
    "dyn.strided_slice": GradientRule(_copied),
    "dyn.tile": GradientRule(_copied),
    "gather_nd": GradientRule(_gather_nd),
    "searchsorted": GradientRule(constant="positions are integers"),
}
