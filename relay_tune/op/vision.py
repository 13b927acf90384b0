"""Operators on boxes in images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape
from relay_tune.op.merge_sort import Workspace, sort_row, workspace
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


def _corners(boxes: Buffer, example: Scalar, box: Scalar) -> tuple[Scalar, ...]:
    """Least and greatest coordinates of both axes, whichever corners are given."""
    first = [boxes[example, box, axis] for axis in (0, 1)]
    second = [boxes[example, box, axis] for axis in (2, 3)]
    pairs = list(zip(first, second, strict=True))
    low = tuple(binary("min", *pair) for pair in pairs)
    return (*low, *(binary("max", *pair) for pair in pairs))


def _overlaps(left: Sequence[Scalar], right: Sequence[Scalar], limit: Scalar) -> Scalar:
    """Whether the area that boxes share is more than `limit` of the area of both."""
    zero = literal(0, limit.dtype)
    sides = [
        binary("min", left[axis + 2], right[axis + 2]) - binary("max", left[axis], right[axis])
        for axis in (0, 1)
    ]
    shared = binary("max", sides[0], zero) * binary("max", sides[1], zero)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (left, right)]
    both = areas[0] + areas[1] - shared
    is_some = binary("and", binary("gt", shared, zero), binary("gt", both, zero))
    ratio = shared / select(is_some, both, literal(1, limit.dtype))
    return binary("and", is_some, binary("gt", ratio, limit))


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """State of the selection for one class: boxes that may be chosen, chosen ones, and counters."""

    builder: LoopBuilder
    sorting: Workspace
    chosen: Buffer
    candidates: Buffer
    kept: Buffer
    step: Buffer
    other: Buffer
    hidden: Buffer


def _state(builder: LoopBuilder, count: int, dtype: str) -> _State:
    names = ("candidates", "kept", "step", "other", "hidden")
    counters = [builder.local(name, (), INDEX) for name in names]
    chosen = builder.local("chosen", (count,), INDEX)
    return _State(builder, workspace(builder, count, dtype), chosen, *counters)


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
            _sort_candidates(state, scores, (example, label), least[()])
            with _each_candidate(state, limit[()]) as box:
                _compare_with_chosen(state, boxes, (example, box), overlap[()])
                with builder.when(binary("eq", state.hidden[()], 0)):
                    builder.store(state.chosen, (state.kept[()],), box)
                    builder.store(state.kept, (), state.kept[()] + 1)
                    for column, value in enumerate((example, label, box)):
                        builder.store(rows, (found[()], column), value)
                    builder.store(found, (), found[()] + 1)
        builder.store(number, (0,), found[()])

    return procedure(
        "suppression", inputs, [(integer_shape(type_), type_.dtype) for type_ in types], write
    )


def _sort_candidates(
    state: _State, scores: Buffer, row: tuple[Scalar, Scalar], least: Scalar
) -> None:
    """The boxes of one class whose score is large enough, best first."""
    builder, work = state.builder, state.sorting
    builder.store(state.candidates, (), 0)
    with builder.loop("candidate", scores.shape[2]) as box:
        score = scores[(*row, box)]
        with builder.when(binary("gt", score, least)):
            builder.store(work.keys, (0, state.candidates[()]), score)
            builder.store(work.places, (0, state.candidates[()]), box)
            builder.store(state.candidates, (), state.candidates[()] + 1)
    sort_row(builder, work, state.candidates[()], ascending=False)


@contextmanager
def _each_candidate(state: _State, limit: Scalar) -> Iterator[Scalar]:
    """A loop over the candidates in order, until enough are chosen; gives the box."""
    builder = state.builder
    builder.store(state.kept, (), 0)
    builder.store(state.step, (), 0)
    is_left = binary("lt", state.step[()], state.candidates[()])
    with builder.while_(binary("and", is_left, binary("lt", state.kept[()], limit))):
        yield state.sorting.places[state.sorting.source[()], state.step[()]]
        builder.store(state.step, (), state.step[()] + 1)


def _compare_with_chosen(
    state: _State, boxes: Buffer, index: tuple[Scalar, Scalar], overlap: Scalar
) -> None:
    """Set `hidden` if the box overlaps one of those that are chosen."""
    builder, (example, box) = state.builder, index
    corners = _corners(boxes, example, box)
    builder.store(state.hidden, (), 0)
    builder.store(state.other, (), 0)
    is_open = binary("eq", state.hidden[()], 0)
    is_left = binary("lt", state.other[()], state.kept[()])
    with builder.while_(binary("and", is_open, is_left)):
        before = _corners(boxes, example, state.chosen[state.other[()]])
        with builder.when(_overlaps(corners, before, overlap)):
            builder.store(state.hidden, (), 1)
        builder.store(state.other, (), state.other[()] + 1)


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
