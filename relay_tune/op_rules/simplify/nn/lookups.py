"""Products with rows that are looked up: their products with the weights are looked up instead.

    nn.dense(one_hot(%i, 1f, 0f, depth=59), W)     is  take(W', %i + 1, axis=0)
    nn.dense(take(T, %i, axis=0), W)               is  take(T W^T, %i, axis=0)
    nn.dense(concatenate((one_hot(..), %h)), W)    is  take(..) + nn.dense(%h, W[:, 59:])

W' are the columns of W as rows, between two rows of zeros: an index outside of one_hot's axis,
which has no element that is on, is clipped to one of them. Tables are products that are computed at
build time: they are as large as the weights, and hold the same numbers; sums are in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from relay_tune.errors import Span
from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.ir.operator import Operator
from relay_tune.op_rules.fold.nn.matmul import DENSE
from relay_tune.op_rules.fold.table import weighted_layer
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import (
    attribute,
    constant_data,
    example_shape,
    operator_call,
    operator_name,
    rank,
    static_shape,
    tensor_type,
    uniform_value,
)
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, constant_of, recall, reshape, tuple_of

SMALLEST_LOOKUP = 1 << 11
"""Multiplications that a lookup has to save; fewer take no longer than its kernel."""

SMALLEST_PART = 16
"""Columns of a part that is looked up; to add its product costs as much as fewer columns do."""

MAXIMUM_TABLE_WORK = 1 << 28
"""Multiplications for a table at build time: a tenth of a second."""

_SUMMED_IN_PARTS = frozenset({"float32", "float64"})
"""Types that sums are computed in; others would round each part of a sum."""

Matrix: TypeAlias = np.ndarray

Separate: TypeAlias = Callable[[WeightedLayer], Expr | None]
"""separate(layer on one part of its data) -> its product, if it is to be a term of its own."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of a constant table at indices of a program.

    Attributes:
        index: the rows, in the shape of the result without its last axis.
        depth: the size of the last axis.
        mode: what becomes of other indices, as `take` says it.
        table: [rows, depth]; None: the rows of a matrix that has `on` on its diagonal, after a row
            of zeros and before another one.
        on: the elements on that diagonal.
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


def product_of_lookup(call_: Call) -> Expr | None:
    """A product of rows that are looked up is a row of a table of products."""
    layer = _layer(call_)
    return None if layer is None else looked_up_product(layer)


def product_of_joined_lookups(call_: Call) -> Expr | None:
    """A product of a concatenation, some of whose parts are lookups or constants, in parts.

    before: nn.dense(concatenate((one_hot(%i, 1f, 0f, depth=59), %h), axis=1), W)
    after:  nn.dense(%h, W[:, 59:]) + take(W', %i + 1, axis=0)
    """
    return divided_product(call_, _joined_lookup)


def divided_product(call_: Call, separate: Separate) -> Expr | None:
    """A product of a concatenation as a sum: of the other parts, and of each separate one.

    `separate` gives the product of a part that is to be a term of its own. Constants are, too. None
    if it is no such product, or nothing is separate.
    """
    layer = _layer(call_)
    parts = None if layer is None else _joined_columns(call_.arguments[0])
    if layer is None or parts is None or parts[-1].end != _inner_size(layer):
        return None
    terms: list[Expr] = []
    others: list[_Columns] = []
    for part in parts:
        alone = _part_of(layer, [part])
        term = alone.layer if isinstance(part.data, Constant) else separate(alone)
        if term is None:
            others.append(part)
        else:
            terms.append(term)
    if not terms:
        return None
    if others:
        terms.insert(0, _part_of(layer, others).layer)
    total = reduce(lambda left, right: call("add", left, right), terms)
    return total if total.type == call_.type else None


def looked_up_product(layer: WeightedLayer) -> Expr | None:
    """The product of a layer as rows of a table, if its data are looked up."""
    lookup = lookup_of(layer.layer.arguments[0])
    if lookup is None or prod(example_shape(layer.layer)) * lookup.depth < SMALLEST_LOOKUP:
        return None
    table = lookup.product(layer)
    if table is None:
        return None
    found = call("take", constant_of(table), lookup.index, axis=0, mode=lookup.mode)
    return replace(found, span=lookup.span) if found.type == layer.layer.type else None


def _joined_lookup(layer: WeightedLayer) -> Expr | None:
    return looked_up_product(layer) if _inner_size(layer) >= SMALLEST_PART else None


def _layer(call_: Call) -> WeightedLayer | None:
    """A product with a constant matrix whose sums may be computed in parts."""
    layer = weighted_layer(call_) if operator_name(call_) in DENSE else None
    if layer is None:
        return None
    types = {type_.dtype for type_ in map(tensor_type, (call_, *call_.arguments)) if type_}
    return layer if len(types) == 1 and types <= _SUMMED_IN_PARTS else None


def _inner_size(layer: WeightedLayer) -> int:
    return int(layer.weight.data.shape[layer.input_axis or 0])


def _diagonal_product(on: float, weight: Matrix) -> Matrix | None:
    """[0, on * weight, 0], where a row of zeros with one element `on` gives that for each row."""
    with np.errstate(all="ignore"):
        rows = (weight * weight.dtype.type(on) + 0).astype(weight.dtype)
    if not np.isfinite(rows).all():
        return None  # other rows get NaN, too
    zeros = np.zeros((1, rows.shape[1]), rows.dtype)
    return np.concatenate([zeros, rows, zeros])


@dataclass(frozen=True, slots=True)
class _Columns:
    """A part of a concatenation along its last axis."""

    data: Expr
    begin: int
    end: int


def _joined_columns(data: Expr) -> list[_Columns] | None:
    """The parts of a concatenation along the last axis; None if `data` is something else."""
    joined, dims = operator_call(data, "concatenate"), rank(data)
    fields = None if joined is None else joined.arguments[0]
    if joined is None or dims is None or not isinstance(fields, Tuple):
        return None
    if attribute(joined, "axis") % dims != dims - 1:
        return None
    parts: list[_Columns] = []
    end = 0
    for field in fields.fields:
        type_ = tensor_type(field)
        size = type_.shape[-1] if type_ is not None else None
        if not isinstance(size, int):
            return None
        parts.append(_Columns(field, end, end + size))
        end += size
    return parts


def _part_of(layer: WeightedLayer, parts: Sequence[_Columns]) -> WeightedLayer:
    """The layer on these parts alone."""
    weight, axis = layer.weight.data, layer.input_axis or 0
    columns = [weight.take(range(part.begin, part.end), axis) for part in parts]
    joined = constant_of(np.concatenate(columns, axis))
    data = parts[0].data
    if len(parts) > 1:
        fields = tuple_of([part.data for part in parts])
        data = call("concatenate", fields, axis=-1)
    return replace(layer, layer=recall(layer.layer, (data, joined)), weight=joined)


def _one_hot(expr: Call) -> Lookup | None:
    indices, on_value, off_value = expr.arguments
    depth, axis, dims = attribute(expr, "depth"), attribute(expr, "axis"), rank(indices)
    on = uniform_value(on_value)
    if axis not in (-1, dims) or on is None or uniform_value(off_value) != 0:
        return None
    return _diagonal(indices, depth, on)


def _chosen(expr: Call) -> Lookup | None:
    """where(equal(i, [0, 1, 2, ..]), on, 0): what `one_hot` stands for."""
    condition, on_value, off_value = expr.arguments
    on = uniform_value(on_value)
    if on is None or uniform_value(off_value) != 0 or static_shape(expr) != static_shape(condition):
        return None
    return _equal_positions(condition, on)


def _cast(expr: Call) -> Lookup | None:
    """The cast of equal(i, [0, 1, 2, ..])."""
    return _equal_positions(expr.arguments[0], 1.0)


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
    wide = call("cast", indices, dtype="int64")
    return Lookup(call("add", wide, constant_of(np.asarray(1, np.int64))), depth, on=on)


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

RULES: RuleTable = dict.fromkeys(DENSE, (product_of_lookup, product_of_joined_lookups))
