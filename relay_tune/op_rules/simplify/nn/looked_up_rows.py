"""Rows that are looked up: rows of a constant table, and rows with one element that is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from relay_tune.errors import Span
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import Operator
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import (
    attribute,
    constant_data,
    is_float,
    operator_call,
    operator_name,
    rank,
    static_shape,
    tensor_type,
    uniform_value,
)
from relay_tune.op_rules.typed import call, reshape
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.scalar_semantics import convert

MAXIMUM_TABLE_WORK = 1 << 28
"""Multiplications for a table at build time: a tenth of a second."""

Matrix: TypeAlias = np.ndarray


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of a constant table at indices of a program.

    Attributes:
        index: the rows, in the shape of the result without its last axis; without a table, the
            columns of the elements that are on.
        depth: the size of the last axis.
        mode: what becomes of other indices, as `take` says it.
        table: [rows, depth]; None: rows have one element, `on`, or none, and zeros.
        on: the element that is on.
        span: where the program looks them up.
    """

    index: Expr
    depth: int
    mode: str = "clip"
    table: Matrix | None = None
    on: float = 1.0
    span: Span | None = None

    def product(self, layer: WeightedLayer) -> Matrix | None:
        """Each row of the table as the layer's data; None where that is too much."""
        weight = layer.weight.data
        units = weight.shape[layer.output_axis]
        if self.table is None:
            return _diagonal_product(self.on, np.moveaxis(weight, layer.output_axis, 1))
        rows = len(self.table)
        work = rows * self.depth * units
        if rows * units > weight.size + self.table.size or work > MAXIMUM_TABLE_WORK:
            return None
        operator = layer.layer.callee
        assert isinstance(operator, Operator)
        attributes = layer.layer.attributes or operator.attributes()
        with np.errstate(all="ignore"):
            return np.asarray(operator.reference(attributes, self.table, weight))


def lookup_of(expr: Expr) -> Lookup | None:
    """`expr` as rows that are looked up, or None."""
    rule = _LOOKUPS.get(operator_name(expr) or "")
    lookup = rule(expr) if rule is not None and isinstance(expr, Call) else None
    return lookup if lookup is None or lookup.span else replace(lookup, span=expr.span)


def _one_hot(expr: Call) -> Lookup | None:
    indices, on_value, off_value = expr.arguments
    depth, axis, dims = attribute(expr, "depth"), attribute(expr, "axis"), rank(indices)
    on = uniform_value(on_value)
    if axis not in (-1, dims) or on is None or uniform_value(off_value) != 0:
        return None
    return _diagonal(indices, depth, _converted(on, attribute(expr, "dtype")))


def _chosen(expr: Call) -> Lookup | None:
    """where(equal(i, [0, 1, 2, ..]), on, 0): what `one_hot` stands for."""
    condition, on_value, off_value = expr.arguments
    on = uniform_value(on_value)
    if on is None or uniform_value(off_value) != 0 or static_shape(expr) != static_shape(condition):
        return None
    return _equal_positions(condition, on)


def _cast(expr: Call) -> Lookup | None:
    """The cast of equal(i, [0, 1, 2, ..]), or of rows with one element."""
    lookup, type_ = lookup_of(expr.arguments[0]), tensor_type(expr)
    if lookup is None:
        return _equal_positions(expr.arguments[0], 1.0)
    if lookup.table is not None or type_ is None or not is_float(expr):
        return None
    return replace(lookup, on=_converted(lookup.on, type_.dtype))


def _converted(number: float, dtype: str) -> float:
    return float(convert(np.asarray(number), dtype))


def _equal_positions(condition: Expr, on: float) -> Lookup | None:
    equal = operator_call(condition, "equal")
    if equal is None:
        return None
    for indices, positions in (equal.arguments, equal.arguments[::-1]):
        data, shape = constant_data(positions), static_shape(indices)
        if data is None or not data.ndim or data.dtype.kind not in "iu" or not shape:
            continue
        *lead, size = shape
        depth = data.shape[-1]
        if size != 1 or data.size != depth or not np.array_equal(data.ravel(), np.arange(depth)):
            continue
        if static_shape(condition) == (*lead, depth):
            return _diagonal(reshape(indices, lead), depth, on)
    return None


def _diagonal(indices: Expr, depth: int, on: float) -> Lookup:
    return Lookup(call("cast", indices, dtype="int64"), depth, on=on)


def _take(expr: Call) -> Lookup | None:
    table, index = constant_data(expr.arguments[0]), expr.arguments[1]
    if table is None or table.ndim != 2 or not len(table) or attribute(expr, "axis") not in (0, -2):
        return None
    if attribute(expr, "batch_dims"):
        return None
    return Lookup(index, table.shape[1], attribute(expr, "mode"), table)


def _reshaped(expr: Call) -> Lookup | None:
    lookup, shape = lookup_of(expr.arguments[0]), static_shape(expr)
    if lookup is None or not shape or shape[-1] != lookup.depth:
        return None
    if static_shape(lookup.index) is None:
        return None
    return replace(lookup, index=reshape(lookup.index, shape[:-1]))


_LOOKUPS: Mapping[str, Callable[[Call], Lookup | None]] = {
    "one_hot": _one_hot,
    "where": _chosen,
    "cast": _cast,
    "take": _take,
    "reshape": _reshaped,
}


def _diagonal_product(on: float, weight: Matrix) -> Matrix | None:
    """[0, on * weight, 0], where a row of zeros with one element `on` gives that for each row."""
    with np.errstate(all="ignore"):
        rows = (weight * weight.dtype.type(on) + 0).astype(weight.dtype)
    if not np.isfinite(rows).all():
        return None  # other rows get NaN, too
    zeros = np.zeros((1, rows.shape[1]), rows.dtype)
    return np.concatenate([zeros, rows, zeros])
