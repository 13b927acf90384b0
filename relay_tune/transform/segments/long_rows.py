"""What is computed for all steps at once and read step by step, one segment after the other.

before:  %p = add(nn.dense(%x, %w), %b);  %p[0:16], %p[16:32], %p[32:48], %p[48:64]
after:   %q = add(nn.dense(%x[0:32], %w), %b);  %q[0:16], %q[16:32]
         %r = add(nn.dense(%x[32:64], %w), %b);  %r[0:16], %r[16:32]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.provenance import made_for
from relay_tune.op_rules.fold.layers import layer_of_argument
from relay_tune.op_rules.matching import static_shape
from relay_tune.op_rules.segments import (
    by_rows,
    is_by_rows,
    kept_apart,
    row_operands,
    slice_call,
    slice_rows,
)
from relay_tune.op_rules.simplify.slicing import Box, slice_box
from relay_tune.op_rules.typed import slice_of
from relay_tune.transform.segments.recurrences import LEAST_STEPS, Recurrence

Readers = Mapping[Expr, Sequence[Expr]]


def divided_rows(
    nodes: Sequence[Expr], readers: Readers, found: Sequence[Recurrence]
) -> dict[Expr, Expr]:
    """Slices of what is computed by rows, of the rows of a segment, by those of the whole."""
    divided: dict[Expr, Expr] = {}
    for node in nodes:
        boxes = _boxes(node, readers)
        if boxes is None or not _has_product(node, readers):
            continue
        for begin, end, inside, after in _segments(boxes, readers, found):
            with made_for(node.span):
                part = _rows(node, begin, end, readers, after)
            for reader in inside:
                (low, high), *rest = boxes[reader]
                begins = (low - begin, *(pair[0] for pair in rest))
                ends = (high - begin, *(pair[1] for pair in rest))
                with made_for(reader.span):
                    divided[reader] = slice_of(part, begins, ends)
    return divided


def _boxes(node: Expr, readers: Readers) -> dict[Expr, Box] | None:
    """What is read of a tensor, if it is read in slices of rows alone."""
    shape = static_shape(node)
    found: dict[Expr, Box] = {}
    if not is_by_rows(node) or shape is None or len(shape) != 2:
        return None
    for reader in readers.get(node, ()):
        sliced = slice_call(reader)
        box = None if sliced is None else slice_box(sliced)
        if box is None or box[0] == (0, shape[0]):
            return None
        found[reader] = box
    return found if len({box[0] for box in found.values()}) >= LEAST_STEPS else None


def _segments(
    boxes: Mapping[Expr, Box], readers: Readers, found: Sequence[Recurrence]
) -> list[tuple[int, int, list[Expr], list[Expr]]]:
    """The rows of each segment, what reads them, and the rows of its first product.

    What meets two segments is in one.
    """
    recurrence, levels = max(
        ((each, _levels(boxes, readers, each)) for each in found),
        key=lambda pair: len(set(map(pair[0].segment_of, pair[1].values()))),
    )
    parts: list[tuple[int, int, list[Expr], list[Expr]]] = []
    last = -1
    for reader, box in sorted(boxes.items(), key=lambda pair: pair[1][0]):
        (begin, end), segment = box[0], recurrence.segment_of(levels[reader])
        if parts and (segment == last or begin < parts[-1][1]):
            before, until, others, after = parts[-1]
            parts[-1] = before, max(until, end), [*others, reader], after
        else:
            parts.append((begin, end, [reader], _before(levels[reader], recurrence)))
        last = segment
    return parts


def _levels(boxes: Mapping[Expr, Box], readers: Readers, recurrence: Recurrence) -> dict[Expr, int]:
    """The levels of what reads each slice."""
    levels = recurrence.levels
    return {each: min((levels[e] for e in readers.get(each, ())), default=0) for each in boxes}


def _before(level: int, recurrence: Recurrence) -> list[Expr]:
    """The rows of the product of a level, if it is not that of the first steps."""
    if recurrence.segment_of(level) == 0 or level == len(recurrence.products):
        return []
    return [recurrence.products[level - 1].arguments[0]]


def _has_product(node: Expr, readers: Readers) -> bool:
    """Whether there is a product below, of operators by rows that nothing else reads."""
    while isinstance(node, Call):
        if layer_of_argument(node) is not None:
            return True
        own = [e for e, is_own in zip(node.arguments, row_operands(node), strict=True) if is_own]
        if len(own) != 1 or not is_by_rows(own[0]) or len(readers[own[0]]) != 1:
            return False
        (node,) = own
    return False


def _rows(
    node: Expr,
    begin: int,
    end: int,
    readers: Readers,
    after: Sequence[Expr],
    is_inner: bool = False,
) -> Expr:
    """Rows of a tensor, computed of operands' rows where nothing else reads them."""
    is_own = is_by_rows(node) and (not is_inner or len(readers[node]) == 1)
    if is_own and isinstance(node, Call):
        return by_rows(node, lambda each: _rows(each, begin, end, readers, after, is_inner=True))
    rows = slice_rows(node, begin, end)
    return kept_apart(rows, after) if after else rows
