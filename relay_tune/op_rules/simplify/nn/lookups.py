"""Products with rows that are looked up: their products with the weights are looked up instead.

    nn.dense(one_hot(%i, 1f, 0f, depth=59), W)     is  take(W', %i + 1, axis=0)
    nn.dense(take(T, %i, axis=0), W)               is  take(T W^T, %i, axis=0)
    nn.dense(concatenate((one_hot(..), %h)), W)    is  take(..) + nn.dense(%h, W[:, 59:])

W' are the columns of W as rows, between two rows of zeros: an index outside of one_hot's axis,
which has no element that is on, is clipped to one of them. Tables are products that are computed at
build time: they are as large as the weights, and hold the same numbers; sums are in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.op_rules.fold.layers import DENSE, layer_of_argument, weighted_layer
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import (
    attribute,
    example_shape,
    operator_call,
    operator_name,
    rank,
    tensor_type,
)
from relay_tune.op_rules.simplify.nn.looked_up_rows import lookup_of
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, constant_of, recall, tuple_of
from relay_tune.quick_dataclass import dataclass

SMALLEST_LOOKUP = 1 << 11
"""Multiplications that a lookup has to save; fewer take no longer than its kernel."""

SMALLEST_PART = 16
"""Columns of a part that is looked up; to add its product costs as much as fewer columns do."""

_SUMMED_IN_PARTS = frozenset({"float32", "float64"})
"""Types that sums are computed in; others would round each part of a sum."""

Separate: TypeAlias = Callable[[WeightedLayer], Expr | None]
"""separate(layer on one part of its data) -> its product, if it is to be a term of its own."""


def product_of_lookup(call_: Call) -> Expr | None:
    """A product of rows that are looked up is a row of a table of products."""
    layer = _layer(call_)
    return None if layer is None else looked_up_product(layer)


def product_of_joined_lookups(call_: Call) -> Expr | None:
    """A product of a concatenation, some of whose parts are lookups or constants, in parts.

    before: nn.dense(concatenate((one_hot(%i, 1f, 0f, depth=59), %h), axis=1), W)
    after:  nn.dense(%h, W[:, 59:]) + take(W', %i + 1, axis=0)
    """
    return divided_product(call_, lambda part: lookup_of(part) is not None, _joined_lookup)


def divided_product(
    call_: Call, is_candidate: Callable[[Expr], bool], separate: Separate
) -> Expr | None:
    """A product of a concatenation as a sum: of the other parts, and of each separate one.

    `separate` gives the product of a candidate that is to be a term of its own. Constants are, too.
    None if it is no such product, or nothing is separate.
    """
    layer = _layer(call_)
    parts = None if layer is None else _joined_columns(call_.arguments[0])
    if layer is None or parts is None or parts[-1].end != _inner_size(layer):
        return None
    terms: list[Expr] = []
    others: list[_Columns] = []
    for part in parts:
        term: Expr | None = None
        if isinstance(part.data, Constant):
            term = _part_of(layer, [part]).layer
        elif is_candidate(part.data):
            term = separate(_part_of(layer, [part]))
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
    index = lookup.index
    if lookup.table is None:
        index = call("add", index, constant_of(np.asarray(1, np.int64)))
    found = call("take", constant_of(table), index, axis=0, mode=lookup.mode)
    return replace(found, span=lookup.span) if found.type == layer.layer.type else None


def row_of_argument(call_: Call) -> Expr | None:
    """A product of one-hot rows with weights that arrive at run time takes rows of these.

    before: nn.dense(one_hot(%i, 1f, 0f, depth=59), %w)
    after:  where(%i >= 0 and %i < 59, take(transpose(%w), %i, axis=0), 0f)

    An infinite weight in a row that is not taken makes no NaN: this is not exact.
    """
    layer, lookup = layer_of_argument(call_), lookup_of(call_.arguments[0])
    if (
        layer is None
        or lookup is None
        or lookup.table is not None
        or operator_name(call_) not in DENSE
    ):
        return None
    if prod(example_shape(call_)) * lookup.depth < SMALLEST_LOOKUP:
        return None
    rows, index = call_.arguments[1], lookup.index
    if layer.output_axis == 0:
        rows = call("transpose", rows, axes=(1, 0))
    above = call("greater_equal", index, constant_of(np.asarray(0, np.int64)))
    below = call("less", index, constant_of(np.asarray(lookup.depth, np.int64)))
    is_inside = call("expand_dims", call("logical_and", above, below), axis=-1)
    dtype = layer.weight.data.dtype
    taken = call("take", rows, index, axis=0, mode="clip")
    scaled = call("multiply", taken, constant_of(np.asarray(lookup.on, dtype)))
    found = call("where", is_inside, scaled, constant_of(np.zeros((), dtype)))
    return found if found.type == call_.type else None


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


RULES: RuleTable = dict.fromkeys(
    DENSE, (product_of_lookup, product_of_joined_lookups, row_of_argument)
)
