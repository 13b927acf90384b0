"""Which stages of a program are convolutions that Winograd's filtering can compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from relay_tune.schedule.products import factors
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Load, Reduce, Scalar, Tensor
from relay_tune.tensor.scalar_value import values_over
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of

FEWEST_CHANNELS = 16
TAPS = 3
STRIDES = (1, 2)


@dataclass(frozen=True, eq=False, slots=True)
class Convolution:
    """A convolution with 3 x 3 taps: result[n, h, w, o] from data[n, s * h + kh, s * w + kw, c].

    Between the batch and the rows there may be other axes, of windows of any kind, over whose taps
    the result is summed: slices[s] of the data is what the result's d reads there.

    Attributes:
        stage: the result.
        data: what is convolved, (batch, .., rows + 2 or more, columns + 2 or more, channels).
        weight: the load of the taps, over the axes of `tap_axes` and the last axis of `stage`.
        tap_axes: the reduction axes (rows of the taps, columns of the taps, .., channels).
        slices: the indices of the data between the batch and the rows.
        stride: s, 1 or 2.
    """

    stage: Computed
    data: Tensor
    weight: Load
    tap_axes: tuple[Axis, ...]
    slices: tuple[Scalar, ...] = ()
    stride: int = 1

    @property
    def image(self) -> tuple[int, int, int]:
        """How many images, rows and columns the result has."""
        shape = self.stage.shape
        return shape[0], shape[-3], shape[-2]

    @property
    def depths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The extents between the batch and the rows: of the data, and of the result."""
        return self.data.shape[1:-3], self.stage.shape[1:-3]

    def taps(self, constants: Mapping[Tensor, np.ndarray]) -> np.ndarray:
        """The taps as an array (3, 3, .., channels, outputs)."""
        return values_over(self.weight, (*self.tap_axes, self.stage.axes[-1]), constants)


def match_convolution(stage: Tensor, constants: Mapping[Tensor, np.ndarray]) -> Convolution | None:
    """The convolution that a stage computes, or None if it is none that can be replaced.

    Of its sizes only the batch may be open.
    """
    if not isinstance(stage, Computed) or len(stage.shape) < 4 or stage.dtype != "float32":
        return None
    if any(map(is_symbolic, stage.shape[1:])):
        return None
    for total, data, weight in factors(stage):
        if weight.tensor in constants:
            found = _matched(stage, total, data, weight)
            if found is not None:
                return found
    return None


def _matched(stage: Computed, total: Reduce, data: Load, weight: Load) -> Convolution | None:
    rank = len(stage.shape)
    if len(data.indices) != rank or min(stage.shape[-3:-1]) < 2:
        return None
    rows, row_stride = _tap_axis(data.indices[-3], stage.axes[-3], total)
    columns, stride = _tap_axis(data.indices[-2], stage.axes[-2], total)
    channel = data.indices[-1]
    if rows is None or columns is None or row_stride != stride or not isinstance(channel, Axis):
        return None
    others = tuple(axis for axis in total.axes if axis not in (rows, columns, channel))
    if len(others) != len(total.axes) - 3 or channel.extent < FEWEST_CHANNELS:
        return None
    slices = data.indices[1:-3]
    if any(not _is_slice(index, stage.axes[1:-3], others) for index in slices):
        return None
    if not set(others) <= set(axes_of(*slices)):
        return None
    batch = data.indices[0]
    if batch is not stage.axes[0] and not (stage.shape[0] == 1 and _is_zero(batch)):
        return None
    if not set(axes_of(weight)) <= {*total.axes, stage.axes[-1]}:
        return None
    taps = (rows, columns, *others, channel)
    return Convolution(stage, data.tensor, weight, taps, slices, stride)


def _is_slice(index: Scalar, places: Sequence[Axis], taps: Sequence[Axis]) -> bool:
    """Whether an index is affine in the places and taps between the batch and the rows."""
    form = axis_affine(index)
    return form is not None and form.terms.keys() <= {*places, *taps}


def _tap_axis(index: Scalar, output: Axis, total: Reduce) -> tuple[Axis | None, int]:
    """The reduction axis k of extent 3 and the stride s where an index is `s * output + k`."""
    form = axis_affine(index)
    for axis, stride in product(total.axes, STRIDES):
        if axis.extent == TAPS and form == Affine({output: stride, axis: 1}):
            return axis, stride
    return None, 0


def _is_zero(index: Scalar) -> bool:
    form = axis_affine(index)
    return form is not None and form == Affine({})
