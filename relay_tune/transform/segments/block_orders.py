"""Weights whose blocks of rows are read in another order: read as they are, results in their order.

    before:  %r = concatenate((%w[0:4], %w[12:16], %w[4:12]));  %y = nn.dense(%x, %r);  %y[:, 4:8]
    after:   %z = nn.dense(%x, %w);                                                 %z[:, 12:16]

So the weight needs no copy, which would be there as long as steps read it. What is computed element
by element keeps the order, slices within a block forget it, and what is multiplied by such a weight
is put together in the weight's order. Files have gates of recurrent layers in several orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.op_rules.fold.layers import layer_of_argument
from relay_tune.op_rules.matching import static_shape, uniform_value
from relay_tune.op_rules.segments import (
    Joined,
    is_elementwise,
    joined_parts,
    product_of_rows,
    slice_call,
    stacked,
)
from relay_tune.op_rules.simplify.slicing import slice_box
from relay_tune.op_rules.typed import call, recall, slice_of, tuple_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import same_scope

Range = tuple[int, int]
"""The begin and the end of a block."""


@dataclass(frozen=True)
class Ordered:
    """A tensor that is another one with blocks in another order.

    Attributes:
        data: the other one.
        axis: along which the blocks lie.
        blocks: of `data`, in the order in which the tensor has them.
    """

    data: Expr
    axis: int
    blocks: tuple[Range, ...]

    @property
    def value(self) -> Expr:
        """The tensor."""
        parts = [_block(self.data, self.axis, each) for each in self.blocks]
        return call("concatenate", tuple_of(parts), axis=self.axis)

    def range_in_data(self, begin: int, end: int) -> Range | None:
        """Where a part of the tensor is in `data`; None if it is in several blocks."""
        first = 0
        for low, high in self.blocks:
            if first <= begin and end <= first + high - low:
                return low + begin - first, low + end - first
            first += high - low
        return None


def with_own_orders(body: Expr) -> Expr:
    """The body in which products read weights in their own order."""
    nodes = list(post_order(body, enter=same_scope))
    weights = {node: found for node in nodes if (found := _reordered(node)) is not None}
    if not weights:
        return body
    orders = _Orders(weights, nodes)
    for node in nodes:
        with made_for(node.span):
            orders.visit(node)
    return orders.done[body]


class _Orders:
    """The nodes so far.

    Attributes:
        done: what each has become.
    """

    def __init__(self, weights: dict[Expr, Ordered], nodes: Sequence[Expr]) -> None:
        self.done: dict[Expr, Expr] = {}
        self._ordered: dict[Expr, Ordered] = {}
        self._weights = weights
        self._factors: dict[Expr, tuple[Range, ...]] = {}
        for node in nodes:
            if (factor := self._factor(node)) is not None:
                self._factors[factor[0]] = factor[1]

    def _factor(self, node: Expr) -> tuple[Expr, tuple[Range, ...]] | None:
        """What is multiplied by the blocks of a weight, and these; None if nothing is."""
        layer = layer_of_argument(node)
        if layer is None or len(static_shape(layer.layer) or ()) != 2:
            return None
        rows, weight = layer.layer.arguments
        order = self._weights.get(weight)
        if order is None or order.axis == layer.output_axis:
            return None
        return rows, order.blocks

    def visit(self, node: Expr) -> None:
        """See a node whose operands were seen."""
        below = children(node) if same_scope(node) else ()
        new = rebuild(node, [self.done[each] for each in below]) if below else node
        factor = self._factor(node)
        if factor is not None and isinstance(new, Call):
            weight = self._weights[node.arguments[1]].data  # type: ignore[attr-defined]
            new = recall(new, (self._ordered[factor[0]].data, self.done.get(weight, weight)))
        order = self._order(node) if isinstance(node, Call) else None
        if node in self._factors:
            new = order.value if order is not None else new
            order = _in_order(new, self._factors[node])
        if order is not None:
            self._ordered[node] = order
            new = order.value
        elif isinstance(node, Call):
            new = self._part(node) or joined_parts(new) or new
        self.done[node] = new

    def _order(self, node: Call) -> Ordered | None:
        order = self._weights.get(node)
        if order is not None and order.data not in self._ordered:
            return Ordered(self.done.get(order.data, order.data), order.axis, order.blocks)
        known = [self._ordered.get(each) for each in node.arguments]
        orders = [each for each in known if each is not None]
        if orders and is_elementwise(node):
            return self._elementwise(node, orders[0])
        layer = layer_of_argument(node)
        if layer is not None and (weight := known[1]) and weight.axis == layer.output_axis:
            data = recall(node, (self.done[node.arguments[0]], weight.data))
            return Ordered(data, layer.channel_axis, weight.blocks)
        return self._slice(node) or self._joined(node) or self._total(node)

    def _elementwise(self, node: Call, order: Ordered) -> Ordered | None:
        """Operands in the same order, and those that are the same along its axis."""
        shape = static_shape(node)
        if shape is None:
            return None
        behind = len(shape) - order.axis
        arguments: list[Expr] = []
        for each in node.arguments:
            known, own = self._ordered.get(each), static_shape(each) or ()
            if known is not None:
                if len(own) - known.axis != behind or known.blocks != order.blocks:
                    return None
                arguments.append(known.data)
            elif len(own) < behind or own[-behind] == 1 or uniform_value(each) is not None:
                arguments.append(self.done[each])
            elif len(own) < len(shape):  # small: a bias, once for all rows
                axis = len(own) - behind
                arguments.append(_in_order(self.done[each], order.blocks, axis).data)
            else:
                return None
        return Ordered(stacked(node, arguments), order.axis, order.blocks)

    def _slice(self, node: Call) -> Ordered | None:
        """A slice that has all blocks."""
        order, box = self._ordered.get(node.arguments[0]), None
        if slice_call(node) is None or order is None or (box := slice_box(node)) is None:
            return None
        if box[order.axis] != (0, (static_shape(node.arguments[0]) or ())[order.axis]):
            return None
        begins, ends = zip(*box, strict=True)
        return Ordered(slice_of(order.data, begins, ends), order.axis, order.blocks)

    def _part(self, node: Call) -> Expr | None:
        """A slice of one block."""
        order = self._ordered.get(node.arguments[0]) if node.arguments else None
        box = None if order is None or slice_call(node) is None else slice_box(node)
        found = None if order is None or box is None else order.range_in_data(*box[order.axis])
        if order is None or box is None or found is None:
            return None
        ranges = [found if axis == order.axis else pair for axis, pair in enumerate(box)]
        begins, ends = zip(*ranges, strict=True)
        return slice_of(order.data, begins, ends)

    def _joined(self, node: Call) -> Ordered | None:
        """A concatenation of tensors that have one order along another axis."""
        joined = Joined.of(node)
        orders = [self._ordered.get(each) for each in joined.parts] if joined else []
        known = [each for each in orders if each is not None]
        if joined is None or len({(each.axis, each.blocks) for each in known}) != 1:
            return None
        axis, blocks = known[0].axis, known[0].blocks
        if axis != 1 or joined.axis == axis:
            return None
        parts = [
            (_in_order(self.done[part], blocks) if order is None else order).data
            for part, order in zip(joined.parts, orders, strict=True)
        ]
        return Ordered(recall(node, (tuple_of(parts),)), axis, blocks)

    def _total(self, node: Call) -> Ordered | None:
        """A sum over rows of which some have an order."""
        found = product_of_rows(node)
        for number, operand in enumerate(found.rows if found else ()):
            order = self._ordered.get(operand)
            if found is not None and order is not None and order.axis == 1:
                rows = [self.done[each] for each in found.rows]
                rows[number] = order.data
                return Ordered(found.of(rows), number, order.blocks)
        return None


def _reordered(node: Expr) -> Ordered | None:
    """A node as blocks of rows of one tensor in another order; None if it is none."""
    parts = _rows(node)
    calls = [each for each in map(slice_call, parts) if each is not None]
    wholes = {each.arguments[0] for each in calls}
    if len(calls) < 2 or len(calls) != len(parts) or len(wholes) != 1:
        return None
    (whole,) = wholes
    boxes, shape = [slice_box(each) for each in calls], static_shape(whole) or ()
    blocks = tuple(box[0] for box in boxes if box is not None)
    rest = tuple((0, size) for size in shape[1:])
    if any(box is None or tuple(box[1:]) != rest for box in boxes):
        return None
    ordered = sorted(blocks)
    follows = all(left[1] == right[0] for left, right in pairwise(ordered))
    is_all = follows and (ordered[0][0], ordered[-1][1]) == (0, shape[0])
    return Ordered(whole, 0, blocks) if is_all else None


def _rows(node: Expr) -> Sequence[Expr]:
    """The parts of a concatenation of rows, or of some of its rows; none if it is none."""
    sliced, joined = slice_call(node), Joined.of(node)
    if sliced is not None:
        box, joined = slice_box(sliced), Joined.of(sliced.arguments[0])
        inside = joined.between(*box[0]) if box and joined and not joined.axis else None
        return inside or ()
    return joined.parts if joined is not None and not joined.axis else ()


def _in_order(node: Expr, blocks: Sequence[Range], axis: int = 1) -> Ordered:
    """A tensor as one that has blocks in another order.

    Parts of a concatenation are put together anew where blocks begin with parts.
    """
    starts = [0, *accumulate(end - begin for begin, end in blocks)]
    ranges = dict(zip(blocks, pairwise(starts), strict=True))
    joined = Joined.of(node)
    parts: list[Expr] = []
    for block in sorted(blocks):
        inside = None if joined is None or joined.axis != axis else joined.between(*ranges[block])
        parts += [_block(node, axis, ranges[block])] if inside is None else inside
    return Ordered(call("concatenate", tuple_of(parts), axis=axis), axis, tuple(blocks))


def _block(data: Expr, axis: int, block: Range) -> Expr:
    shape = static_shape(data) or ()
    ranges = [block if each == axis else (0, size) for each, size in enumerate(shape)]
    begins, ends = zip(*ranges, strict=True)
    return slice_of(data, begins, ends)
