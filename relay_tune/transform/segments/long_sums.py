"""Sums over the rows of all steps, one segment of the steps after the other.

    before:  nn.matmul(concatenate((%d0, %d1, %d2, %d3)), concatenate((%h0, ..)), transpose_a=True)
    after:   add(nn.matmul(concatenate((%d2, %d3)), concatenate((%h2, %h3)), transpose_a=True),
                 nn.matmul(concatenate((%d0, %d1)), concatenate((%h0, %h1)), transpose_a=True))

What is known first is summed first, so the rows of a segment are needed no longer than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod

from relay_tune.ir.expr import Expr
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.op_rules.row_sums import RowSum, row_sum
from relay_tune.op_rules.segments import joined_rows, kept_apart, rows_of
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.typed import call
from relay_tune.transform.module_pass import same_scope
from relay_tune.transform.segments.recurrences import LEAST_STEPS, Recurrence, segment_of


def divided_sums(nodes: Sequence[Expr], found: Sequence[Recurrence]) -> dict[Expr, Expr]:
    """Sums over more elements than they have themselves, as sums of parts, by the whole ones."""
    depths = _depths(nodes)
    concatenations = Concatenations(())
    divided: dict[Expr, Expr] = {}
    for node in nodes:
        total, type_ = row_sum(node), tensor_type(node)
        if total is None or type_ is None or _elements(node) > sum(map(_elements, total.rows)):
            continue
        joined = [parts for parts in map(joined_rows, total.rows) if parts is not None]
        parts = max(joined, key=len, default=())
        if len(parts) >= LEAST_STEPS:
            with made_for(node.span):
                bounds = _bounds(parts, depths, found)
                divided[node] = _parts(total, type_, bounds, concatenations)
    return divided


def _depths(nodes: Sequence[Expr]) -> dict[Expr, int]:
    """How many nodes there are one behind the other up to each: later steps are deeper."""
    depths: dict[Expr, int] = {}
    for node in nodes:
        below = children(node) if same_scope(node) else ()
        depths[node] = 1 + max((depths[each] for each in below), default=0)
    return depths


def _bounds(
    parts: Sequence[Expr], depths: Mapping[Expr, int], found: Sequence[Recurrence]
) -> list[tuple[int, int]]:
    """The rows of each segment, those that are known first in front."""
    segments = _segments(parts, depths, found)
    bounds: dict[int, tuple[int, int]] = {}
    known: dict[int, int] = {}
    end = 0
    for segment, part in zip(segments, parts, strict=True):
        begin, end = end, end + (static_shape(part) or (0,))[0]
        bounds[segment] = bounds.get(segment, (begin, end))[0], end
        known[segment] = max(known.get(segment, 0), depths[part])
    return [bounds[segment] for segment in sorted(bounds, key=lambda each: known[each])]


def _segments(
    parts: Sequence[Expr], depths: Mapping[Expr, int], found: Sequence[Recurrence]
) -> list[int]:
    """The segments whose steps compute the parts.

    The first step may have no product: its state is zero. Behind the last product the last step
    comes first.
    """
    count = len(parts)
    fitting = (each for each in found if count - len(each.products) in (0, 1))
    recurrence = next(fitting, found[0])
    steps = len(recurrence.products)
    missing = count - steps if count - steps in (0, 1) else 0
    is_late = recurrence.levels[parts[0]] == steps == recurrence.levels[parts[-1]]
    is_rising = depths[parts[0]] <= depths[parts[-1]]
    numbers = range(count) if is_rising != is_late else range(count - 1, -1, -1)
    total = count - missing
    segments = min(recurrence.segments, total)
    return [segment_of(max(number - missing, 0), total, segments) for number in numbers]


def _parts(
    total: RowSum,
    type_: TensorType,
    bounds: Sequence[tuple[int, int]],
    concatenations: Concatenations,
) -> Expr:
    terms = [
        total.total.of([rows_of(each, *pair, concatenations) for each in total.rows], type_)
        for pair in bounds
    ]
    return reduce(lambda left, right: call("add", kept_apart(left), right), terms)


def _elements(node: Expr) -> int:
    return prod(static_shape(node) or ())
