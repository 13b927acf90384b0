"""Transposed convolution through phases: no product with an inserted zero is computed.

With stride s and padding c, output position y gets data[i] * weight[k] wherever
y + c = s * i + d * k for dilation d. Write y = s * q + r with the phase r < s. Only the taps
k' = (r + c) % s + s * t of the dilated weight reach phase r, and they read
data[q + (r + c) // s - t]: for each phase an ordinary convolution with a smaller weight. The stages
are: the data padded, the weight sorted by phase (zero where k' is no tap), one reduction over all
phases at once, and the interleaving of the phases, a reshape where the channels come last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relay_tune.op.elements import Array, wide_dtype
from relay_tune.op.layout_arrays import as_stored, as_whole, summation_array, window_slices
from relay_tune.op.layout_indices import (
    Index,
    ReductionAxes,
    cast_tensor,
    compute_elements,
    letter_positions,
    letter_sizes,
    load_at,
    quotient,
    remainder,
    spatial_letters,
    whole,
)
from relay_tune.op.nn.convolution_computation import (
    ChannelGroups,
    multiply_groups,
    reduction_indices,
)
from relay_tune.op.nn.windows import Windows, conjunction, pad_data, windows_of
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast, literal, reduce, select
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.typing.layout import parse_layout
from relay_tune.typing.relations.support import as_tuple


@dataclass(frozen=True, slots=True)
class Phases:
    """One spatial axis of the result, cut into blocks of one element for each phase.

    Element y stands in block y // stride and has the phase y % stride.

    Attributes:
        stride: the number of phases.
        step: distance, in data elements, of neighbouring taps of one phase.
        own_taps: taps of one phase.
        blocks: how many positions of each phase are computed.
        crop: padding that is no whole block; phases from stride - crop on read one element later.
        has_late_phases: whether there are such phases.
        before: how many zeros (if negative: cuts) the data needs in front.
        extent: size of the padded data.
    """

    stride: int
    step: int
    own_taps: int
    blocks: int
    crop: int
    has_late_phases: bool
    before: int
    extent: int

    @property
    def has_extra_tap(self) -> bool:
        """Whether late phases start one tap later, with a zero tap in front.

        With two phases the later start is the phase itself, so that no tap is needed for it.
        """
        return self.has_late_phases and self.stride > 2

    @property
    def taps(self) -> int:
        """Taps that are computed for each phase."""
        return self.own_taps + self.has_extra_tap

    def start(self, phase: Scalar) -> Scalar | int:
        """What a phase adds to the position in the data."""
        return phase if self.has_late_phases and not self.has_extra_tap else 0

    def weight_place(self, phase: Scalar, tap: Scalar) -> Scalar:
        """The place in the dilated window of a tap of a phase; taps run backwards through it."""
        place = remainder(phase + self.crop, self.stride)
        place = place - tap * self.stride + (self.own_taps - 1) * self.stride
        if self.has_extra_tap:
            place = place + quotient(phase + self.crop, self.stride) * self.stride
        return place


def phases_of(size: int, window: int, stride: int, dilation: int, cut: int, output: int) -> Phases:
    """The phases of an axis of `size` data elements; `cut` is the padding in front.

    A single data element is not repeated, so its stride may be chosen such that each output
    position is a phase of its own, with one tap.
    """
    if size == 1:
        stride = max(stride, (window - 1) * dilation + 1, cut + output)
    step = dilation if stride == 1 else 1
    taps = window if stride == 1 else -(-((window - 1) * dilation + 1) // stride)
    first = cut // stride
    crop = cut - first * stride
    blocks = ceiling_quotient(output, stride)
    reach = (taps - 1) * step
    late = crop + (stride if is_symbolic(output) else min(stride, output)) > stride
    extent = blocks + reach + late
    return Phases(stride, step, taps, blocks, crop, late, reach - first, extent)


def convolution_transpose(
    attributes: Any, inputs: Sequence[Any], types: Sequence[Any]
) -> Sequence[Tensor]:
    """The tensors of a transposed convolution call; accumulates short floats in float32."""
    data, weight = inputs
    layout = attributes.data_layout
    kernel = letter_sizes(weight.shape, attributes.kernel_layout)
    sizes = letter_sizes(data.shape, layout)
    groups = ChannelGroups(sizes["C"] // attributes.groups, kernel["O"], attributes.groups)
    windows = windows_of(attributes, [kernel[letter] for letter in spatial_letters(layout)])
    form = _phase_form(attributes, windows, sizes, types[0].shape)
    padded = form.padded(data, layout)
    sorted_weight = _phase_weight(weight, attributes.kernel_layout, windows, form, groups)
    accumulator = wide_dtype(types[0].dtype)

    def element(*indices: Scalar) -> Scalar:
        output, phases = form.split(indices)
        reduction = ReductionAxes()
        counts = [axis.taps for axis in form.axes]
        channel, taps = reduction_indices(reduction, layout, groups.inputs, counts)
        position = {"N": output["N"], "C": groups.input_channel(output["C"], channel)}
        for letter, axis, tap, phase in zip(form.letters, form.axes, taps, phases, strict=True):
            position[letter] = whole(output[letter]) + axis.start(phase) + tap * axis.step
        value = cast(load_at(padded, layout, position), accumulator)
        factor = sorted_weight[(*phases, *taps, whole(channel), whole(output["C"]))]
        return reduce("sum", reduction.axes, value * cast(factor, accumulator))

    computed = compute_elements("convolution_phases", form.shape(types[0].shape), element)
    result = compute_elements(
        "convolution_transpose", types[0].shape, lambda *axes: computed[form.join(axes)]
    )
    return [cast_tensor(result, types[0].dtype)]


@dataclass(frozen=True, slots=True)
class _PhaseForm:
    """The layout of a result whose spatial axes are split into (block, phase).

    The phase follows its block, but where channels come before the spatial axes it precedes all
    blocks, so that neighbours in memory stay neighbours in the data.
    """

    layout: str
    letters: str
    axes: tuple[Phases, ...]

    @property
    def order(self) -> list[tuple[str, bool]]:
        """(letter, whether it is the phase) of each dimension; blocked channels occur twice."""
        stored = [axis.letter for axis in parse_layout(self.layout)]
        phases = [(letter, True) for letter in self.letters]
        if stored[-1] in self.letters:
            first = stored.index(self.letters[0])
            places = [(letter, False) for letter in stored]
            return [*places[:first], *phases, *places[first:]]
        spread = [[(n, False), (n, True)] if n in self.letters else [(n, False)] for n in stored]
        return [place for places in spread for place in places]

    def shape(self, stored: Sequence[int]) -> tuple[int, ...]:
        """The shape for a result of shape `stored`."""
        by_letter = dict(zip(self.letters, self.axes, strict=True))
        sizes = iter(stored)
        shape = []
        for letter, is_phase in self.order:
            if is_phase:
                shape.append(by_letter[letter].stride)
                continue
            size = next(sizes)
            shape.append(by_letter[letter].blocks if letter in by_letter else size)
        return tuple(shape)

    def padded(self, data: Tensor, layout: str) -> Tensor:
        """The data with the zeros that the taps of all phases reach."""
        sizes = letter_sizes(data.shape, layout)
        pairs = list(zip(self.letters, self.axes, strict=True))
        after = [axis.extent - axis.before - sizes[letter] for letter, axis in pairs]
        return pad_data(data, layout, [axis.before for axis in self.axes], after)

    def split(self, indices: Sequence[Scalar]) -> tuple[dict[str, Index], list[Scalar]]:
        """(position with blocks for the spatial letters, phases) of an element."""
        pairs = list(zip(self.order, indices, strict=True))
        stored = [index for (_, is_phase), index in pairs if not is_phase]
        phases = {letter: index for (letter, is_phase), index in pairs if is_phase}
        return letter_positions(self.layout, stored), [phases[letter] for letter in self.letters]

    def join(self, indices: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Where the result's element at `indices` was computed."""
        by_letter = dict(zip(self.letters, self.axes, strict=True))
        stored = dict(zip(range(len(indices)), indices, strict=True))
        letters = [axis.letter for axis in parse_layout(self.layout)]
        places = iter(range(len(indices)))
        found: list[Scalar] = []
        for letter, is_phase in self.order:
            if letter not in by_letter:
                found.append(stored[next(places)])
                continue
            axis = by_letter[letter]
            position = stored[letters.index(letter)]
            if is_phase:
                found.append(remainder(position, axis.stride))
            else:
                next(places)
                found.append(quotient(position, axis.stride))
        return tuple(found)


def _phase_form(
    attributes: Any, windows: Windows, sizes: Mapping[str, int], shape: Sequence[int]
) -> _PhaseForm:
    """The phases of all spatial axes, for data of `sizes` and a result of `shape`."""
    letters = spatial_letters(attributes.data_layout)
    out_layout = attributes.out_layout or attributes.data_layout
    outputs = letter_sizes(shape, out_layout)
    axes = [
        phases_of(
            sizes[letter],
            windows.size[n],
            windows.strides[n],
            windows.dilation[n],
            windows.before[n],
            outputs[letter],
        )
        for n, letter in enumerate(letters)
    ]
    return _PhaseForm(out_layout, letters, tuple(axes))


def _phase_weight(
    weight: Tensor, layout: str, windows: Windows, form: _PhaseForm, groups: ChannelGroups
) -> Tensor:
    """The weight as [phase ..., tap ..., input channel of the group, output channel].

    Taps run backwards, so that a later tap reads a later element of the data.
    """
    axes, letters = form.axes, form.letters
    rank = len(axes)
    shape = (
        *(axis.stride for axis in axes),
        *(axis.taps for axis in axes),
        groups.inputs,
        groups.outputs * groups.groups,
    )

    def element(*indices: Scalar) -> Scalar:
        channel, output = indices[-2:]
        position: dict[str, Index] = {
            "I": groups.input_channel(output, channel),
            "O": output if groups.groups == 1 else remainder(output, groups.outputs),
        }
        conditions: list[Scalar] = []
        for n, axis in enumerate(axes):
            place = axis.weight_place(indices[n], indices[rank + n])
            tap, exists = _tap(place, windows.size[n], windows.dilation[n], axis)
            position[letters[n]] = tap
            conditions += exists
        load = load_at(weight, layout, position)
        exists_all = conjunction(conditions)
        return load if exists_all is None else select(exists_all, load, literal(0, load.dtype))

    return compute_elements("phase_weight", shape, element)


def _tap(place: Scalar, window: int, dilation: int, axis: Phases) -> tuple[Scalar, list[Scalar]]:
    """The tap at `place` of the dilated window, and the conditions under which there is one."""
    if axis.stride == 1:
        return place, []
    exists: list[Scalar] = []
    if axis.has_extra_tap:
        exists.append(binary("ge", place, 0))
    if (window - 1) * dilation + 1 < axis.taps * axis.stride:
        exists.append(binary("lt", place, (window - 1) * dilation + 1))
    if dilation > 1:
        exists.append(binary("eq", remainder(place, dilation), 0))
    return quotient(place, dilation), exists


def convolution_transpose_reference(attributes: Any, data: Array, weight: Array) -> Array:
    """Transposed convolution: each tap adds its product to every stride-th place of the result."""
    letters = spatial_letters(attributes.data_layout)
    dtype = attributes.out_dtype or data.dtype.name
    values = summation_array(as_whole(data, attributes.data_layout, "NC" + letters), dtype)
    kernel = summation_array(as_whole(weight, attributes.kernel_layout, "IO" + letters), dtype)
    windows = windows_of(attributes, kernel.shape[2:])
    extra = as_tuple(attributes.output_padding, len(letters), "output_padding")
    full = _scatter_taps(values, kernel, windows, attributes.groups, extra)
    crop = [
        slice(before, extent - after)
        for before, after, extent in zip(windows.before, windows.after, full.shape[2:], strict=True)
    ]
    result = full[(slice(None), slice(None), *crop)].astype(numpy_dtype(dtype))
    return as_stored(result, "NC" + letters, attributes.out_layout or attributes.data_layout)


def _scatter_taps(
    values: Array, kernel: Array, windows: Windows, groups: int, extra: Sequence[int]
) -> Array:
    """The uncropped result, as [batch, channel, spatial ...]."""
    batch, channels = values.shape[:2]
    places = values.shape[2:]
    grouped = kernel.reshape(groups, channels // groups, -1, *windows.size).swapaxes(1, 2)
    columns = values.reshape(batch, groups, channels // groups, prod(places))
    extents = [
        (size - 1) * stride + span + more
        for size, stride, span, more in zip(
            places, windows.strides, windows.span, extra, strict=True
        )
    ]
    full = np.zeros((batch, groups * grouped.shape[1], *extents), values.dtype)
    for tap in np.ndindex(*windows.size):
        product = multiply_groups(grouped[(..., *tap)], columns)
        where = window_slices(tap, places, windows.strides, windows.dilation)
        full[(slice(None), slice(None), *where)] += product.reshape(batch, full.shape[1], *places)
    return full
