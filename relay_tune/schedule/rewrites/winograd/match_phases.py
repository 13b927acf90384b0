"""Which stages are transposed convolutions that Winograd's filtering can compute.

    r[n, q, h, v, w, o] = sum(kh, kw, c) x[n, q + kh + .., v + kw + .., c] * g[h, w, kh, kw, c, o]
    y[n, i, j, o] = r[n, i // s, i % s, j // s, j % s, o]        of phases with equally many taps

A stage that joins the phases of its rows and columns is looked at phase by phase: each is a
convolution of the same data with stride 1 and a part of the taps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.products import factors
from relay_tune.schedule.rewrites.winograd.match import (
    FEWEST_CHANNELS,
    Convolution,
    match_convolution,
)
from relay_tune.schedule.rewrites.winograd.numbers import FLOATS, Numbers
from relay_tune.schedule.rewrites.winograd.phase import Phase, Phases
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Literal,
    Load,
    Reduce,
    Scalar,
    Tensor,
    index_value,
)
from relay_tune.tensor.index import simplify
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, loads, sub_expressions, substitute

MOST_PHASES = 4
"""Of a dimension; all of them are computed together."""


def match_filtered(stage: Tensor, numbers: Numbers = FLOATS) -> Convolution | None:
    """The convolution in some numbers that a stage computes; None if none can be filtered.

    Those of floats may be transposed ones.
    """
    found = match_convolution(stage, numbers)
    return match_transposed(stage) if found is None and numbers is FLOATS else found


def match_transposed(stage: Tensor) -> Convolution | None:
    """The transposed convolution whose phases a stage joins; None if none that can be replaced."""
    if not isinstance(stage, Computed) or stage.dtype != "float32" or not _joins_sums(stage):
        return None
    strides = [_stride(stage, axis) for axis in stage.axes[1:-1]]
    if any(is_symbolic(extent) for extent in stage.shape[1:]) or max(strides) > MOST_PHASES:
        return None
    numbers = list(product(*map(range, strides)))
    found = [_part(stage, strides, number) for number in numbers]
    parts = {number: part for number, part in zip(numbers, found, strict=True) if part is not None}
    return _joined(stage, strides, parts) if len(parts) == len(numbers) else None


def _joins_sums(stage: Computed) -> bool:
    """Whether a stage of one or two dimensions only moves what sums of phases have computed."""
    rank = len(stage.shape)
    read = [load.tensor for load in loads(stage.body)] if rank in (3, 4) else []
    return bool(read) and all(
        isinstance(tensor, Computed)
        and isinstance(tensor.body, Reduce)
        and len(tensor.shape) == 2 * rank - 2
        for tensor in read
    )


def _stride(stage: Computed, axis: Axis) -> int:
    """How many phases an axis of a stage has."""
    divisors = {
        int(node.right.value)
        for node in sub_expressions(stage.body)
        if isinstance(node, Binary)
        and node.operation == "floordiv"
        and node.left is axis
        and isinstance(node.right, Literal)
    }
    return max(divisors, default=1)


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """The results of one phase of each dimension: a sum over taps and channels.

    Attributes:
        data: what is read.
        phases: that of each dimension.
        taps: the reduction axis of the taps of each dimension; None where there is one tap.
        channel: the reduction axis of the channels.
        weight: the load of the taps, over those axes and the last axis of the stage.
    """

    data: Tensor
    phases: tuple[Phase, ...]
    taps: tuple[Axis | None, ...]
    channel: Axis
    weight: Load


def _part(stage: Computed, strides: Sequence[int], number: Sequence[int]) -> _Part | None:
    """What a stage is at the positions s * q + number, q an axis of each dimension."""
    blocks = [
        Axis(axis.name, -(-axis.extent // stride))
        for axis, stride in zip(stage.axes[1:-1], strides, strict=True)
    ]
    indices = {
        axis: block * stride + index
        for axis, block, stride, index in zip(
            stage.axes[1:-1], blocks, strides, number, strict=True
        )
    }
    read = simplify(stage.body, indices)
    if not isinstance(read, Load) or not isinstance(read.tensor, Computed):
        return None
    own = dict(zip(read.tensor.axes, read.indices, strict=True))
    part = Computed(
        name=stage.name,
        shape=(stage.shape[0], *(block.extent for block in blocks), stage.shape[-1]),
        dtype=stage.dtype,
        axes=(stage.axes[0], *blocks, stage.axes[-1]),
        body=simplify(read.tensor.body, own),
    )
    found = (_matched(part, *each) for each in factors(part))
    return next((each for each in found if each is not None), None)


def _matched(part: Computed, total: Reduce, data: Load, weight: Load) -> _Part | None:
    if len(data.indices) != len(part.shape):
        return None
    batch, channel = data.indices[0], data.indices[-1]
    if not isinstance(channel, Axis) or channel not in total.axes:
        return None
    if channel.extent < FEWEST_CHANNELS or weight.dtype != "float32":
        return None
    if batch is not part.axes[0] and not (part.shape[0] == 1 and axis_affine(batch) == Affine({})):
        return None
    read = [
        _window(index, block, total)
        for index, block in zip(data.indices[1:-1], part.axes[1:-1], strict=True)
    ]
    windows = [each for each in read if each is not None]
    taps = tuple(tap for _, tap in windows)
    used = {channel, *(tap for tap in taps if tap is not None)}
    if len(windows) < len(read) or {axis for axis in total.axes if axis.extent > 1} - used:
        return None
    weight = _read_through(weight)
    if not set(axes_of(weight)) <= {*total.axes, part.axes[-1]}:
        return None
    return _Part(data.tensor, tuple(phase for phase, _ in windows), taps, channel, weight)


def _window(index: Scalar, block: Axis, total: Reduce) -> tuple[Phase, Axis | None] | None:
    """The phase of a dimension that reads a window of neighbours, and the axis of its taps."""
    form = axis_affine(index)
    if form is None:
        return None
    for axis in total.axes:
        form = form.without(axis) if axis.extent == 1 else form
    if form.terms == {block: 1}:
        return Phase(1, form.constant), None
    taps = [axis for axis in total.axes if form.terms == {block: 1, axis: 1}]
    return (Phase(taps[0].extent, form.constant), taps[0]) if taps else None


def _read_through(load: Load) -> Load:
    """What a load of taps that a stage puts in order by phases reads."""
    while isinstance(load.tensor, Computed) and isinstance(load.tensor.body, Load):
        indices = dict(zip(load.tensor.axes, load.indices, strict=True))
        inner = simplify(load.tensor.body, indices)
        assert isinstance(inner, Load)
        load = inner
    return load


def _joined(
    stage: Computed, strides: Sequence[int], parts: Mapping[tuple[int, ...], _Part]
) -> Convolution | None:
    """The convolution of all phases, if they read the same data and agree in each dimension."""
    first = next(iter(parts.values()))
    phases = [
        tuple(parts[_only(strides, index, at)].phases[at] for index in range(stride))
        for at, stride in enumerate(strides)
    ]
    for number, part in parts.items():
        expected = tuple(phases[at][index] for at, index in enumerate(number))
        if part.data is not first.data or part.channel.extent != first.channel.extent:
            return None
        if part.phases != expected:
            return None
    if min(phase.start for along in phases for phase in along) < 0:
        return None
    if all(phase.taps == 1 for along in phases for phase in along):
        return None
    channel = Axis(first.channel.name, first.channel.extent)
    lines = phases if len(phases) > 1 else [*phases, (Phase(1),)]
    rows, columns = (_numbered(each) for each in lines)

    def tap(row: tuple[int, int], column: tuple[int, int]) -> Load:
        pair = (row, column)[: len(strides)]
        part = parts[tuple(phase for phase, _ in pair)]
        indices: dict[Axis, Scalar] = {part.channel: channel}
        for axis, (_, index) in zip(part.taps, pair, strict=True):
            if axis is not None:
                indices[axis] = index_value(index)
        read = simplify(substitute(part.weight, indices))
        assert isinstance(read, Load)
        return read

    return Convolution(
        stage,
        first.data,
        tuple(tuple(tap(row, column) for column in columns) for row in rows),
        (Axis("row", len(rows)), Axis("column", len(columns)), channel),
        phases=(lines[0], lines[1]),
    )


def _only(strides: Sequence[int], index: int, at: int) -> tuple[int, ...]:
    """The phase `index` of one dimension, with the first ones of the others."""
    return tuple(index if other == at else 0 for other in range(len(strides)))


def _numbered(phases: Phases) -> list[tuple[int, int]]:
    """(phase, tap) of all taps of a dimension."""
    return [(number, tap) for number, phase in enumerate(phases) for tap in range(phase.taps)]
