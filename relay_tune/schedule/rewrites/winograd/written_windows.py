"""Maxima and sums over small windows as one expression, where what they reduce is inlined.

    before:  y[h, w] = f(t, h, w);  p[i, j] = max(a, b) y[2 * i + a, 2 * j + b]
    after:   p[i, j] = max(max(max(f(t, 2 * i, 2 * j), f(t, 2 * i, 2 * j + 1)), ..), ..)

A reduction's nest wants its operand in memory. Written out, a pooling becomes a part of the nest
that computes its operand element by element, such as the last stage of Winograd's filtering, and
the larger image is never stored. No element may be in two windows, or it would be computed twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce as fold
from itertools import product
from math import prod

from relay_tune.tensor.affine import Variable, axis_affine
from relay_tune.tensor.expression import Axis, Load, Reduce, Scalar, Tensor, binary, index_value
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import loads, substitute

COMBINING = {"max": "max", "min": "min", "sum": "add"}
"""The binary operation of each reduction that may be written out."""

MOST_PLACES = 16
"""Positions of a window; each repeats the expression of an element."""


def written_out(stage: Computed, elementwise: Collection[Tensor], period: int) -> Computed:
    """The stage with its reduction as an expression; itself unless it reduces windows apart.

    `elementwise` are the tensors that have no reduction of their own. Their elements differ by the
    position within a `period`, which must be a multiple of each step of the windows.
    """
    body = stage.body
    if not isinstance(body, Reduce) or body.operation not in COMBINING:
        return stage
    operands = list(loads(body.body))
    if len(operands) != 1 or operands[0].tensor not in elementwise:
        return stage
    if not _are_apart(stage, body, operands[0], period):
        return stage
    positions = list(product(*(range(axis.extent) for axis in body.axes)))
    operation = COMBINING[body.operation]

    def combined(first: Scalar, second: Scalar) -> Scalar:
        return binary(operation, first, second)

    def element(*at: Scalar) -> Scalar:
        own = dict(zip(stage.axes, at, strict=True))
        taps = (
            dict(zip(body.axes, map(index_value, position), strict=True)) for position in positions
        )
        return fold(combined, (substitute(body.body, {**own, **tap}) for tap in taps))

    return compute(stage.name, stage.shape, element)


def _are_apart(stage: Computed, body: Reduce, read: Load, period: int) -> bool:
    """Whether small windows lie side by side, of which none is along the last axis."""
    if prod(axis.extent for axis in body.axes) > MOST_PLACES:
        return False
    taps = set(body.axes)
    for index in read.indices:
        form = axis_affine(index)
        if form is None:
            return False
        own = [axis for axis in form.terms if axis in taps]
        if own and not _is_window(form.terms, own, stage.axes, period):
            return False
        if own and index is read.indices[-1]:
            return False
        taps -= set(own)
    return not taps


def _is_window(
    terms: Mapping[Variable, int], taps: Sequence[Axis], positions: Sequence[Axis], period: int
) -> bool:
    """Whether an index is `extent * position + tap`, the tap of an extent that divides `period`."""
    others = [axis for axis in terms if axis not in taps]
    if len(taps) != 1 or len(others) != 1 or others[0] not in positions:
        return False
    extent = taps[0].extent
    return terms[taps[0]] == 1 and terms[others[0]] == extent and period % extent == 0
