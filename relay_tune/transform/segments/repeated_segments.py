"""What a backward sweep reads of a segment of a recurrence, computed again for all of its steps.

    forward:   %p5 = %x5 + nn.dense(%h4, %w); %g5 = sigmoid(%p5); ..; %p6 = %x6 + nn.dense(%h5, %w)
    backward:  %p = %x[5:9] + nn.dense(concatenate((%h4, %h5, %h6, %h7)), %w)
               %g = sigmoid(%p);  .. %g[3] .. %g[2] ..

Rows of the products stay, which are small and read by the sums over all steps as well. So the
products of a segment need not wait for each other, and are one. What needs the state before it,
as the cells of an LSTM, is computed step by step, from the state that the segment begins with.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.op_rules.matching import attributes_of, static_shape
from relay_tune.op_rules.segments import (
    is_by_rows,
    is_elementwise,
    is_kept_apart,
    kept_apart,
    row_operands,
    slice_call,
    slice_rows,
    stacked,
)
from relay_tune.op_rules.simplify.slicing import slice_box
from relay_tune.op_rules.sums.concatenations import Concatenations
from relay_tune.op_rules.typed import recall, slice_of, tuple_of
from relay_tune.transform.module_pass import same_scope
from relay_tune.transform.segments.recurrences import Recurrence

Key: TypeAlias = int
"""A number that nodes of several steps have in common if they compute the same of their steps."""


def with_repeated_segments(body: Expr, nodes: Sequence[Expr], recurrence: Recurrence) -> Expr:
    """The body in which what no product needs reads copies of what all segments but one have.

    `nodes` are those of the body, operands first. Copies of a segment wait for the sums over the
    rows of the one behind it.
    """
    forward = set(post_order(recurrence.products[-1], enter=same_scope))
    return _Behind(nodes, forward, recurrence).of(body)


class _Behind:
    """What no product needs, with copies of what products need."""

    def __init__(
        self, nodes: Sequence[Expr], forward: Collection[Expr], recurrence: Recurrence
    ) -> None:
        ahead = [node for node in nodes if node in forward]
        rest = [node for node in nodes if node not in forward]
        self._done: dict[Expr, Expr] = {}
        self._forward = forward
        read = {each for node in rest for each in _below(node) if each in forward}
        self._copies = _Copies(ahead, recurrence, read)
        self._sums: dict[int, list[Expr]] = {}
        first: dict[Expr, int] = {}
        last = recurrence.segments - 1
        for node in rest:
            segments = [self._first(each, first, last) for each in _below(node)]
            first[node] = min(segments, default=last)
            if is_kept_apart(node):
                self._sums.setdefault(first[node] - 1, []).append(node)

    def _first(self, node: Expr, known: Mapping[Expr, int], last: int) -> int:
        """The first segment that a node needs copies of; the last one has none."""
        if node not in self._forward:
            return known[node]
        segment = self._copies.segment_of(node)
        return last if segment is None else segment

    def of(self, root: Expr) -> Expr:
        """What a node becomes."""
        if root in self._forward:
            return root
        waiting = [root]
        while waiting:
            node = waiting[-1]
            missing = [] if node in self._done else self._missing(node)
            if node not in self._done and not missing:
                self._done[node] = self._new(node)
            if missing:
                waiting += missing
            else:
                waiting.pop()
        return self._done[root]

    def _missing(self, node: Expr) -> list[Expr]:
        needed: list[Expr] = []
        for each in _below(node):
            segment = self._copies.segment_of(each) if each in self._forward else None
            needed += [each] if each not in self._forward else self._sums_behind(segment)
        return [each for each in dict.fromkeys(needed) if each not in self._done]

    def _sums_behind(self, segment: int | None) -> list[Expr]:
        return [] if segment is None else self._sums.get(segment, [])

    def _new(self, node: Expr) -> Expr:
        below = _below(node)
        with made_for(node.span):
            return rebuild(node, [self._operand(each) for each in below]) if below else node

    def _operand(self, node: Expr) -> Expr:
        if node not in self._forward:
            return self._done[node]
        segment = self._copies.segment_of(node)
        if segment is None:
            return node
        return self._copies.of(node, [self._done[each] for each in self._sums_behind(segment)])


def _below(node: Expr) -> Sequence[Expr]:
    return children(node) if same_scope(node) else ()


class _Copies:
    """The values of segments once more."""

    def __init__(
        self, nodes: Sequence[Expr], recurrence: Recurrence, waiting: Collection[Expr]
    ) -> None:
        self._recurrence = recurrence
        self._waiting = waiting
        self._levels = recurrence.levels
        self._kept = {each.arguments[0] for each in recurrence.products}
        self._kept |= _states(nodes, recurrence)
        self._keys = _keys(nodes, recurrence)
        self._nodes: dict[tuple[int, Key], Expr] = {}
        for node, key in self._keys.items():
            self._nodes.setdefault((self._levels[node], key), node)
        self._copies: dict[Expr, Expr] = {}
        self._stacks: dict[tuple[int, Key], Expr | None] = {}
        self._wholes: dict[Expr, Expr] = {}
        self._concatenations = Concatenations(nodes)
        self._after: Sequence[Expr] = ()

    def segment_of(self, node: Expr) -> int | None:
        """The segment whose copies a value is one of; None where the value is kept."""
        level = self._levels[node]
        segment = self._recurrence.segment_of(level)
        is_last = segment == self._recurrence.segments - 1
        return None if level == 0 or is_last or node in self._kept else segment

    def of(self, node: Expr, after: Sequence[Expr]) -> Expr:
        """The copy of a value of a segment, computed when the tensors `after` are known."""
        self._after = after
        return self._copy(node, self._recurrence.segment_of(self._levels[node]))

    def _copy(self, root: Expr, segment: int) -> Expr:
        levels = self._recurrence.levels_of(segment)
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if node in self._copies:
                waiting.pop()
                continue
            if self._is_kept(node, levels):
                self._copies[node] = node
                continue
            is_whole = node in self._waiting or node in self._recurrence.products
            key = self._keys.get(node) if is_whole else None
            whole = None if key is None else self._stack(segment, key)
            if whole is not None:
                self._copies[node] = self._step(whole, node, levels)
                continue
            below = children(node)
            missing = [each for each in below if each not in self._copies]
            if missing:
                waiting += missing
                continue
            self._copies[node] = _with(node, [self._copies[each] for each in below])
        return self._copies[root]

    def _is_kept(self, node: Expr, levels: range) -> bool:
        """Whether a value waits: rows of products, states between segments, and what is dear."""
        if self._levels[node] < levels[0] or node in self._kept:
            return True
        if node in self._recurrence.products or isinstance(node, Tuple):
            return False
        return not is_elementwise(node) and slice_call(node) is None

    def _step(self, whole: Expr, node: Expr, levels: range) -> Expr:
        """The rows of one step among those of a segment."""
        count = (static_shape(node) or (0,))[0]
        first = (self._levels[node] - levels[0]) * count
        return slice_rows(whole, first, first + count)

    def _stack(self, segment: int, key: Key) -> Expr | None:
        """The values of a key of all steps of a segment; None where there is no such tensor."""
        if (segment, key) not in self._stacks:
            levels = self._recurrence.levels_of(segment)
            steps = [self._nodes.get((level, key)) for level in levels]
            nodes = [each for each in steps if isinstance(each, Call)]
            found = None
            if len(nodes) == len(levels):
                with made_for(nodes[0].span):
                    found = self._stacked(nodes, segment)
            self._stacks[segment, key] = found
        return self._stacks[segment, key]

    def _stacked(self, nodes: Sequence[Call], segment: int) -> Expr | None:
        first = nodes[0]
        if first in self._recurrence.products:
            rows = self._concatenations.of([each.arguments[0] for each in nodes], 0)
            return recall(first, (kept_apart(rows, self._after), first.arguments[1]))
        if slice_call(first) is not None:
            whole = self._operand(nodes, 0, segment)
            box = slice_box(first)
            if whole is None or box is None:
                return None
            count = (static_shape(whole) or (0,))[0]
            begins = (0, *(pair[0] for pair in box[1:]))
            return slice_of(whole, begins, (count, *(pair[1] for pair in box[1:])))
        operands: list[Expr] = []
        for number, has_rows in enumerate(row_operands(first)):
            operand = self._operand(nodes, number, segment) if has_rows else first.arguments[number]
            if operand is None:
                return None
            operands.append(operand)
        return stacked(first, operands)

    def _operand(self, nodes: Sequence[Call], number: int, segment: int) -> Expr | None:
        """An operand of all steps, one behind the other."""
        operand = nodes[0].arguments[number]
        if operand in self._keys:
            return self._stack(segment, self._keys[operand])
        return self._neighbours([each.arguments[number] for each in nodes])

    def _neighbours(self, slices: Sequence[Expr]) -> Expr | None:
        """Slices of one tensor whose rows follow each other, as one, of a copy of the tensor."""
        calls = [each for each in map(slice_call, slices) if each is not None]
        boxes = [box for box in map(slice_box, calls) if box is not None]
        wholes = {each.arguments[0] for each in calls}
        if len(boxes) != len(slices) or len(wholes) != 1:
            return None
        follows = all(a[0][1] == b[0][0] for a, b in zip(boxes, boxes[1:], strict=False))
        if not follows or len({box[1:] for box in boxes}) != 1:
            return None
        (whole,) = wholes
        begin, end, rest = boxes[0][0][0], boxes[-1][0][1], boxes[0][1:]
        begins, ends = (begin, *(e[0] for e in rest)), (end, *(e[1] for e in rest))
        part = self._again(whole)
        shape = static_shape(part) or ()
        is_all = not any(begins) and tuple(ends) == shape
        return part if is_all else slice_of(part, begins, ends)

    def _again(self, node: Expr, is_inner: bool = False) -> Expr:
        """A copy of what is computed by rows, so that it need not wait."""
        if not isinstance(node, Call) or not is_by_rows(node):
            return kept_apart(node, self._after) if is_inner and self._after else node
        if node not in self._wholes:
            parts = zip(node.arguments, row_operands(node), strict=True)
            arguments = [
                self._again(each, is_inner=True) if has_rows else each for each, has_rows in parts
            ]
            self._wholes[node] = replace(node, arguments=tuple(arguments))
        return self._wholes[node]


def _states(nodes: Sequence[Expr], recurrence: Recurrence) -> set[Expr]:
    """What segments pass on to the next ones."""
    segments = {node: recurrence.segment_of(recurrence.levels[node]) for node in nodes}
    return {each for node in nodes for each in _below(node) if segments[each] < segments[node]}


def _with(node: Expr, parts: Sequence[Expr]) -> Expr:
    """The node with other operands; itself where they are its own."""
    if all(new is old for new, old in zip(parts, children(node), strict=True)):
        return node
    if isinstance(node, Tuple):
        return tuple_of(parts)
    return rebuild(node, parts)


def _keys(nodes: Sequence[Expr], recurrence: Recurrence) -> dict[Expr, Key]:
    """The keys of values that all steps of a segment can have at once.

    These are the products, and what is computed of them element by element, with slices of what is
    known before, and with what is the same for all steps.
    """
    keys: dict[Expr, Key] = {}
    numbers: dict[Hashable, Key] = {}
    products = set(recurrence.products)
    for node in nodes:
        described: Hashable | None = None
        if node in products:
            described = "product"
        elif isinstance(node, Call) and recurrence.levels[node]:
            described = _described(node, keys, recurrence.levels)
        if described is not None:
            keys[node] = numbers.setdefault(described, len(numbers))
    return keys


def _described(node: Call, keys: Mapping[Expr, Key], levels: Mapping[Expr, int]) -> Hashable | None:
    """What a call computes, in terms of the products of its own step; None if it needs others."""
    box = None if slice_call(node) is None else slice_box(node)
    shape = static_shape(node)
    if shape is None or len(shape) != 2 or not (is_elementwise(node) or box is not None):
        return None
    if box is not None and box[0] != (0, (static_shape(node.arguments[0]) or (0,))[0]):
        return None
    own = [True] if box is not None else row_operands(node)
    parts: list[Hashable] = []
    for operand, has_rows in zip(node.arguments, own, strict=True):
        known = _operand_key(operand, has_rows, keys, levels)
        if known is None or (operand in keys and levels[operand] != levels[node]):
            return None
        parts.append(known)
    return node.callee, repr(attributes_of(node)), tuple(parts)


def _operand_key(
    operand: Expr, has_rows: bool, keys: Mapping[Expr, Key], levels: Mapping[Expr, int]
) -> Hashable | None:
    if operand in keys:
        return "computed", keys[operand]
    if not has_rows:
        return ("same", operand) if not levels[operand] else None
    sliced = slice_call(operand)
    box = None if sliced is None else slice_box(sliced)
    if sliced is None or box is None or levels[operand]:
        return None
    return "slice", box[1:]
