"""Which stages of a program are convolutions that Winograd's filtering can compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.products import factors
from relay_tune.schedule.rewrites.winograd.integer_transforms import BITS, spare_bits
from relay_tune.schedule.rewrites.winograd.numbers import FLOATS, Numbers
from relay_tune.schedule.rewrites.winograd.phase import SINGLE, Phase, Phases
from relay_tune.schedule.rewrites.winograd.transforms import PlaneFiltering, plane_filtering
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Load, Reduce, Scalar, Tensor, index_value
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.scalar_value import values_over
from relay_tune.tensor.size import is_symbolic, surely_less
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, substitute

FEWEST_CHANNELS = 16
TAPS = 3
STRIDES = (1, 2)

LARGEST_BYTE = {"uint8": 255, "int8": 128}
"""The largest magnitude of an element."""


@dataclass(frozen=True, eq=False, slots=True)
class Convolution:
    """A convolution with 3 x 3 taps: result[n, h, w, o] from data[n, s * h + d * kh, .., c].

    Either the rows or the columns may be without taps. Between the batch and the rows there may be
    other axes, of windows of any kind, over whose taps the result is summed: slices[s] of the data
    is what the result's d reads there. One dimension is an image of one column.

    A transposed convolution is one, too, whose results have taps of their own in each of several
    phases (see `match_phases`): result[n, 2 * h + r, ..] from data[n, h + kh, ..]. The taps of all
    phases are counted one after the other.

    Attributes:
        stage: the result.
        data: what is convolved, (batch, .., rows, columns, channels), or (batch, rows, channels);
            2 * d or more rows and columns than the result where those have taps.
        weights: for each row of taps the loads of those in its columns, over `steps` and the last
            axis of `stage`.
        tap_axes: the reduction axes (rows of the taps, columns of the taps, .., channels); an axis
            of extent 1 for rows or columns without taps.
        slices: the indices of the data between the batch and the rows.
        phases: those of the rows and of the columns.
        stride: s, 1 or 2.
        dilations: d of the rows and of the columns; 1 where there are no taps, or a stride.
        numbers: the types of data and taps, and of what filtering makes of them.
    """

    stage: Computed
    data: Tensor
    weights: tuple[tuple[Load, ...], ...]
    tap_axes: tuple[Axis, ...]
    slices: tuple[Scalar, ...] = ()
    phases: tuple[Phases, Phases] = (SINGLE, SINGLE)
    stride: int = 1
    dilations: tuple[int, int] = (1, 1)
    numbers: Numbers = FLOATS

    def filtering(self, outputs: int) -> PlaneFiltering | None:
        """The transforms for tiles of so many outputs of each phase; None if there are none.

        Of integers there are those for which results have enough bits.
        """
        found = plane_filtering(outputs, self.stride, self.phases, self.numbers.filterings)
        if found is None or self.numbers is FLOATS:
            return found
        return found if self.sum_bits + spare_bits(found) <= BITS else None

    @property
    def sum_bits(self) -> int:
        """How many bits with a sign hold each result, of integers."""
        total = self.stage.body
        assert isinstance(total, Reduce)
        steps = prod(axis.extent for axis in total.axes)
        read = self.data.dtype, self.weights[0][0].dtype
        data, weight = (LARGEST_BYTE[dtype] for dtype in read)
        return min(total.bits or BITS, (steps * data * weight).bit_length() + 1)

    @property
    def is_line(self) -> bool:
        """Whether there is one dimension."""
        return len(self.stage.shape) == 3

    @property
    def image(self) -> tuple[int, int, int]:
        """How many images, rows and columns the result has."""
        shape = self.stage.shape
        return (shape[0], shape[1], 1) if self.is_line else (shape[0], shape[-3], shape[-2])

    @property
    def tap_counts(self) -> tuple[int, int]:
        """The taps along the rows and along the columns, of all phases."""
        return self.tap_axes[0].extent, self.tap_axes[1].extent

    @property
    def steps(self) -> tuple[Axis, ...]:
        """The reduction axes but those of the taps: (.., channels)."""
        return self.tap_axes[2:]

    @property
    def depths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The extents between the batch and the rows: of the data, and of the result."""
        return self.data.shape[1:-3], self.stage.shape[1:-3]

    @property
    def taps_shape(self) -> tuple[int, ...]:
        """The extents of (rows, columns, .., channels, outputs)."""
        return tuple(axis.extent for axis in (*self.tap_axes, self.stage.axes[-1]))

    @property
    def weight_tensors(self) -> tuple[Tensor, ...]:
        """What the taps are read from."""
        return tuple(dict.fromkeys(load.tensor for row in self.weights for load in row))

    def taps(self, constants: Mapping[Tensor, Array]) -> Array:
        """The taps as an array of `taps_shape`."""
        axes = (*self.steps, self.stage.axes[-1])
        rows = ([values_over(load, axes, constants) for load in row] for row in self.weights)
        return np.stack([np.stack(row) for row in rows])


@dataclass(frozen=True, eq=False, slots=True)
class Window:
    """What an index reads: stride * output + dilation * tap."""

    tap: Axis
    stride: int = 1
    dilation: int = 1


def match_convolution(stage: Tensor, numbers: Numbers = FLOATS) -> Convolution | None:
    """The convolution in some numbers that a stage computes; None if none that can be replaced.

    Of its sizes the batch, the rows and the columns may be open.
    """
    if not isinstance(stage, Computed) or len(stage.shape) < 3 or stage.dtype != numbers.sums:
        return None
    if any(map(is_symbolic, (*stage.shape[1:-3], stage.shape[-1]))):
        return None
    found = (_matched(stage, *each, numbers) for each in factors(stage))
    return next((each for each in found if each is not None), None)


def _matched(
    stage: Computed, total: Reduce, data: Load, weight: Load, numbers: Numbers
) -> Convolution | None:
    if not {data.dtype, weight.dtype} <= set(numbers.given):
        return None
    windows = _windows(stage, total, data)
    channel = data.indices[-1]
    if windows is None or channel not in total.axes or channel.extent < FEWEST_CHANNELS:
        return None  # a channel that is not summed over, as in a depthwise convolution
    rows, columns = windows
    others = tuple(axis for axis in total.axes if axis not in (rows.tap, columns.tap, channel))
    slices = data.indices[1:-3]
    if any(not _is_slice(index, stage.axes[1:-3], others) for index in slices):
        return None
    if not {axis for axis in others if axis.extent > 1} <= set(axes_of(*slices)):
        return None
    batch = data.indices[0]
    if batch is not stage.axes[0] and not (stage.shape[0] == 1 and _is_zero(batch)):
        return None
    if not set(axes_of(weight)) <= {*total.axes, stage.axes[-1]}:
        return None
    return Convolution(
        stage,
        data.tensor,
        _weights(weight, rows.tap, columns.tap),
        (rows.tap, columns.tap, *others, channel),
        slices,
        ((Phase(rows.tap.extent),), (Phase(columns.tap.extent),)),
        max(rows.stride, columns.stride),
        (rows.dilation, columns.dilation),
        numbers,
    )


def _weights(weight: Load, rows: Axis, columns: Axis) -> tuple[tuple[Load, ...], ...]:
    """The loads of single taps."""

    def tap(row: int, column: int) -> Load:
        read = substitute(weight, {rows: index_value(row), columns: index_value(column)})
        assert isinstance(read, Load)
        return read

    return tuple(
        tuple(tap(row, column) for column in range(columns.extent)) for row in range(rows.extent)
    )


def _windows(stage: Computed, total: Reduce, data: Load) -> tuple[Window, Window] | None:
    """The windows along rows and columns, at least one of them with taps that have one stride."""
    rank = len(stage.shape)
    if len(data.indices) != rank:
        return None
    columns: Window | None = Window(Axis("column", 1))
    if rank == 3:
        rows, extents = _window(data.indices[1], stage.axes[1], total), (stage.shape[1], 1)
    else:
        rows, columns = (_window(data.indices[at], stage.axes[at], total) for at in (-3, -2))
        extents = stage.shape[-3], stage.shape[-2]
    if rows is None or columns is None or rows.tap is columns.tap:
        return None
    windows = rows, columns
    return windows if _are_filtered(windows, extents) else None


def _are_filtered(windows: tuple[Window, Window], extents: tuple[int, int]) -> bool:
    """Whether there are taps, of one stride or apart from each other, and results for two."""
    with_taps = [
        (window, extent)
        for window, extent in zip(windows, extents, strict=True)
        if window.tap.extent == TAPS
    ]
    if any(surely_less(extent, window.dilation + 1) for window, extent in with_taps):
        return False
    strides = {window.stride for window, _ in with_taps}
    return len(strides) == 1 and (strides == {1} or all(w.dilation == 1 for w, _ in with_taps))


def _is_slice(index: Scalar, indices: Sequence[Axis], taps: Sequence[Axis]) -> bool:
    """Whether an index is affine in the positions and taps between the batch and the rows."""
    form = axis_affine(index)
    return form is not None and form.terms.keys() <= {*indices, *taps}


def _window(index: Scalar, output: Axis, total: Reduce) -> Window | None:
    """The window with three taps or one that an index reads for an output's positions."""
    form = axis_affine(index)
    if form is None:
        return None
    for axis in total.axes:
        form = form.without(axis) if axis.extent == 1 else form
    if form == Affine({output: 1}):
        return Window(Axis("tap", 1))
    for axis, stride in product(total.axes, STRIDES):
        dilation = form.coefficient(axis)
        if axis.extent == TAPS and form == Affine({output: stride, axis: dilation}):
            return Window(axis, stride, dilation) if dilation > 0 else None
    return None


def _is_zero(index: Scalar) -> bool:
    form = axis_affine(index)
    return form is not None and form == Affine({})
