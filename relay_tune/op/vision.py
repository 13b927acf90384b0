"""Operators on boxes in images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape
from relay_tune.op.heap_selection import Heap, element_at, heap_buffers, sift
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import (
    INDEX,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    literal,
    select,
)
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.tensor import procedure
from relay_tune.typing.relations.vision import non_max_suppression as suppression_relation

_LANES = 16
"""So many chosen boxes are compared at once; targets with shorter vectors take several."""

_EDGES = 4
"""Least and greatest coordinates of both axes; behind them stands the area."""


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """State of the selection for one class.

    Attributes:
        builder: where statements go.
        heap: the boxes that may be chosen, with the best at the root.
        chosen: edges and area of those that are chosen, [5, boxes].
        own: edges and area of the box that is looked at, [5].
        hits: whether it overlaps any chosen one, by the lane of that.
        box: its number.
        candidates: how many boxes are left.
        kept: how many are chosen.
    """

    builder: LoopBuilder
    heap: Heap
    chosen: Buffer
    own: Buffer
    hits: Buffer
    box: Buffer
    candidates: Buffer
    kept: Buffer


def _state(builder: LoopBuilder, count: int, dtype: str) -> _State:
    return _State(
        builder,
        heap_buffers(builder, count, dtype),
        chosen=builder.local("chosen", (_EDGES + 1, count + _LANES), dtype),
        own=builder.local("own", (_EDGES + 1,), dtype),
        hits=builder.local("hits", (_LANES,), dtype),
        box=builder.local("box", (), INDEX),
        candidates=builder.local("candidates", (), INDEX),
        kept=builder.local("kept", (), INDEX),
    )


def _suppression(attributes: Any, inputs: Sequence[Tensor], types: Any) -> Sequence[Tensor]:
    """For each class: candidates in the order of their scores, each unless it overlaps a chosen."""
    batch, classes, count = inputs[1].shape

    def write(builder: LoopBuilder, *buffers: Buffer) -> None:
        boxes, scores, most, overlap, least, rows, number = buffers
        state = _state(builder, count, scores.dtype)
        found, limit = (builder.local(name, (), INDEX) for name in ("found", "limit"))
        builder.store(found, (), 0)
        with builder.loop("row", rows.shape[0]) as row:
            for column in range(3):
                builder.store(rows, (row, column), 0)
        wanted = cast(most[()], INDEX)
        all_boxes = index_value(count)
        builder.store(limit, (), select(binary("lt", wanted, 0), all_boxes, wanted))
        with builder.loop("example", batch) as example, builder.loop("class", classes) as label:
            _find_candidates(state, scores, (example, label), least[()])
            with _each_candidate(state, limit[()]):
                _measure(state, boxes, example)
                _compare_with_chosen(state, overlap[()])
                with builder.when(binary("eq", _any(state.hits), literal(0, scores.dtype))):
                    for column, value in enumerate((example, label, state.box[()])):
                        builder.store(rows, (found[()], column), value)
                    builder.store(found, (), found[()] + 1)
                    _choose(state)
        builder.store(number, (0,), found[()])

    return procedure(
        "suppression", inputs, [(integer_shape(type_), type_.dtype) for type_ in types], write
    )


def _find_candidates(
    state: _State, scores: Buffer, row: tuple[Scalar, Scalar], least: Scalar
) -> None:
    """The boxes of one class whose score is large enough, as a heap.

    Of equal scores that of the first box is better: numbers of boxes are negative in the heap, at
    whose root the last one of equal elements stands.
    """
    builder, heap, count = state.builder, state.heap, state.candidates
    builder.store(count, (), 0)
    with builder.loop("candidate", scores.shape[2]) as box:
        score = scores[(*row, box)]
        with builder.when(binary("gt", score, least)):
            builder.store(heap.keys, (count[()],), score)
            builder.store(heap.places, (count[()],), binary("sub", 0, box))
            builder.store(count, (), count[()] + 1)
    half = binary("floordiv", count[()], 2)
    with builder.loop("root", half) as number:
        root = half - 1 - number
        sift(builder, heap, element_at(heap, root), root, count[()], ascending=True)


@contextmanager
def _each_candidate(state: _State, limit: Scalar) -> Iterator[None]:
    """A loop that takes the best candidate, until none is left, or enough are chosen."""
    builder, heap, count = state.builder, state.heap, state.candidates
    builder.store(state.kept, (), 0)
    is_open = binary("lt", state.kept[()], limit)
    with builder.while_(binary("and", binary("gt", count[()], 0), is_open)):
        builder.store(state.box, (), binary("sub", 0, heap.places[0]))
        builder.store(count, (), count[()] - 1)
        last = element_at(heap, count[()])
        sift(builder, heap, last, literal(0, INDEX), count[()], ascending=True)
        yield


def _measure(state: _State, boxes: Buffer, example: Scalar) -> None:
    """The edges of a box, whichever corners are given, and its area."""
    own = state.own
    for axis in (0, 1):
        pair = [boxes[example, state.box[()], axis + side] for side in (0, 2)]
        state.builder.store(own, (axis,), binary("min", *pair))
        state.builder.store(own, (axis + 2,), binary("max", *pair))
    state.builder.store(own, (_EDGES,), (own[2] - own[0]) * (own[3] - own[1]))


def _compare_with_chosen(state: _State, overlap: Scalar) -> None:
    """Set lanes of `hits` to 1 if the box overlaps one of those that are chosen, else to 0."""
    builder, hits = state.builder, state.hits
    with builder.vector("lane", _LANES) as lane:
        builder.store(hits, (lane,), 0)
    blocks = binary("floordiv", state.kept[()] + (_LANES - 1), _LANES)
    own = [state.own[edge] for edge in range(_EDGES + 1)]
    with builder.loop("block", blocks) as block, builder.vector("lane", _LANES) as lane:
        index = block * _LANES + lane
        other = [state.chosen[edge, index] for edge in range(_EDGES + 1)]
        one = literal(1, hits.dtype)
        builder.store(hits, (lane,), select(_overlaps(own, other, overlap), one, hits[lane]))


def _overlaps(left: Sequence[Scalar], right: Sequence[Scalar], limit: Scalar) -> Scalar:
    """Whether the area that boxes share is more than `limit` of the area of both."""
    zero = literal(0, limit.dtype)
    sides = [
        binary("min", left[axis + 2], right[axis + 2]) - binary("max", left[axis], right[axis])
        for axis in (0, 1)
    ]
    shared = binary("max", sides[0], zero) * binary("max", sides[1], zero)
    both = left[_EDGES] + right[_EDGES] - shared
    is_some = binary("and", binary("gt", shared, zero), binary("gt", both, zero))
    ratio = shared / select(is_some, both, literal(1, limit.dtype))
    return binary("and", is_some, binary("gt", ratio, limit))


def _any(hits: Buffer) -> Scalar:
    """The greatest lane, in few steps one after the other."""
    lanes: list[Scalar] = [hits[lane] for lane in range(_LANES)]
    while len(lanes) > 1:
        lanes = [binary("max", *pair) for pair in zip(lanes[::2], lanes[1::2], strict=True)]
    return lanes[0]


def _choose(state: _State) -> None:
    """Write a box behind the chosen ones; slots behind it, up to whole vectors, are no boxes."""
    builder, kept = state.builder, state.kept[()]
    is_first = binary("eq", binary("floormod", kept, _LANES), 0)
    with builder.when(is_first):
        for edge in range(_EDGES + 1):
            with builder.vector("lane", _LANES) as lane:
                builder.store(state.chosen, (edge, kept + lane), 0)
    for edge in range(_EDGES + 1):
        builder.store(state.chosen, (edge, kept), state.own[edge])
    builder.store(state.kept, (), kept + 1)


def _reference(
    attributes: Attributes, boxes: Array, scores: Array, most: Array, overlap: Array, least: Array
) -> tuple[Array, Array]:
    batch, classes, count = scores.shape
    rows = np.zeros((batch * classes * count, 3), np.int64)
    limit = count if most < 0 else int(most)
    found = 0
    for example in range(batch):
        low = np.minimum(boxes[example, :, :2], boxes[example, :, 2:])
        high = np.maximum(boxes[example, :, :2], boxes[example, :, 2:])
        for label in range(classes):
            chosen: list[int] = []
            row = scores[example, label]
            for box in np.argsort(-row, kind="stable"):
                if len(chosen) >= limit or not row[box] > least:
                    continue
                if not _hidden(low, high, int(box), chosen, overlap):
                    chosen.append(int(box))
            for box in chosen:
                rows[found] = example, label, box
                found += 1
    return rows, np.array([found], np.int64)


def _hidden(low: Array, high: Array, box: int, chosen: list[int], overlap: Array) -> bool:
    """Whether a box overlaps one that is chosen."""
    sides = np.minimum(high[chosen], high[box]) - np.maximum(low[chosen], low[box])
    shared = np.maximum(sides, 0).prod(axis=1)
    area = (high - low).prod(axis=1)
    both = area[chosen] + area[box] - shared
    is_some = (shared > 0) & (both > 0)
    return bool((is_some & (shared / np.where(is_some, both, 1) > overlap)).any())


all_class_non_max_suppression = define(
    name="vision.all_class_non_max_suppression",
    arguments=(
        *("boxes", "scores", "max_output_boxes_per_class"),
        *("iou_threshold", "score_threshold"),
    ),
    relation=suppression_relation,
    kind=FusionKind.OPAQUE,
    compute=_suppression,
    reference=_reference,
    documentation=(
        "The boxes of each class whose score is above a threshold, best first, without those "
        "that overlap a better one of the class too much: rows (example, class, box), and how "
        "many there are; the rows behind them are 0. Boxes are [y, x, y, x] of two corners; "
        "a negative maximum is none."
    ),
)
