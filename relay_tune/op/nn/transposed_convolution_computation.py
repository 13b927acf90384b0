"""Transposed convolution through phases: no product with an inserted zero is computed.

With stride s and padding c, output position y gets data[i] * weight[k] wherever
y + c = s * i + d * k for dilation d. Write y = s * q + r with the phase r < s. The taps k of a
phase are equally far apart, and read equally distant elements from q + a number of the phase on:
for each phase an ordinary convolution with a smaller weight (see `transposed_phases`). Phases with
equally many taps are computed together. The stages are: the data padded; for each such group the
weight sorted by phase, and one reduction; and the interleaving of the phases, a reshape where there
is one group and the channels come last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as combinations
from math import prod
from typing import Any

import numpy as np

from relay_tune.op.elements import Array, wide_dtype
from relay_tune.op.layout_arrays import as_stored, as_whole, summation_array, sums_as, window_slices
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
from relay_tune.op.nn.transposed_phases import PhaseGroup, Phases, phases_of
from relay_tune.op.nn.windows import Windows, pad_data, windows_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast, literal, reduce, select
from relay_tune.typing.layout import parse_layout
from relay_tune.typing.relations.support import as_tuple


def convolution_transpose(
    attributes: Any, inputs: Sequence[Any], types: Sequence[Any]
) -> Sequence[Tensor]:
    """The tensors of a transposed convolution call; accumulates short floats in float32."""
    data, weight = inputs
    layout = attributes.data_layout
    kernel = letter_sizes(weight.shape, attributes.kernel_layout)
    sizes = letter_sizes(data.shape, layout)
    channels = ChannelGroups(sizes["C"] // attributes.groups, kernel["O"], attributes.groups)
    windows = windows_of(attributes, [kernel[letter] for letter in spatial_letters(layout)])
    form = _phase_form(attributes, windows, sizes, types[0].shape)
    padded = form.padded(data, layout)
    accumulator = wide_dtype(types[0].dtype)

    def product(groups: tuple[PhaseGroup, ...]) -> Tensor:
        sorted_weight = _phase_weight(weight, attributes.kernel_layout, form, groups, channels)

        def element(*indices: Scalar) -> Scalar:
            output, phases = form.split(indices)
            reduction = ReductionAxes()
            counts = [group.taps for group in groups]
            channel, taps = reduction_indices(reduction, layout, channels.inputs, counts)
            position = {"N": output["N"], "C": channels.input_channel(output["C"], channel)}
            for n, (letter, group) in enumerate(zip(form.letters, groups, strict=True)):
                start = whole(output[letter]) + group.start(phases[n])
                position[letter] = start + taps[n] * form.axes[n].step
            value = cast(load_at(padded, layout, position), accumulator)
            factor = sorted_weight[(*phases, *taps, whole(channel), whole(output["C"]))]
            return reduce(
                "sum", reduction.axes, value * cast(factor, accumulator), attributes.sum_bits
            )

        return compute_elements("convolution_phases", form.shape(types[0].shape, groups), element)

    found = {groups: product(groups) for groups in combinations(*(x.groups for x in form.axes))}
    result = compute_elements(
        "convolution_transpose", types[0].shape, lambda *axes: form.joined(found, axes, accumulator)
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
            positions = [(letter, False) for letter in stored]
            return [*positions[:first], *phases, *positions[first:]]
        spread = [[(n, False), (n, True)] if n in self.letters else [(n, False)] for n in stored]
        return [position for positions in spread for position in positions]

    def shape(self, stored: Sequence[int], groups: Sequence[PhaseGroup]) -> tuple[int, ...]:
        """The shape of the part of some phases, for a result of shape `stored`."""
        by_letter = dict(zip(self.letters, zip(self.axes, groups, strict=True), strict=True))
        sizes = iter(stored)
        shape = []
        for letter, is_phase in self.order:
            if is_phase:
                shape.append(by_letter[letter][1].count)
                continue
            size = next(sizes)
            shape.append(by_letter[letter][0].blocks if letter in by_letter else size)
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

    def joined(
        self,
        parts: Mapping[tuple[PhaseGroup, ...], Tensor],
        indices: Sequence[Scalar],
        dtype: str,
    ) -> Scalar:
        """The element of the result at `indices`; zero where its phase has no taps."""
        stored = [axis.letter for axis in parse_layout(self.layout)]
        phases = [
            remainder(indices[stored.index(letter)], axis.stride)
            for letter, axis in zip(self.letters, self.axes, strict=True)
        ]

        def chosen(groups: tuple[PhaseGroup, ...]) -> Scalar:
            if len(groups) == len(self.axes):
                return parts[groups][self._indices_in_part(indices, groups, phases)]
            n = len(groups)
            axis = self.axes[n]
            others = axis.groups[:-1] if axis.is_covered else axis.groups
            value = chosen((*groups, axis.groups[-1])) if axis.is_covered else literal(0, dtype)
            for other in reversed(others):
                value = select(other.holds(phases[n]), chosen((*groups, other)), value)
            return value

        return chosen(())

    def _indices_in_part(
        self, indices: Sequence[Scalar], groups: Sequence[PhaseGroup], phases: Sequence[Scalar]
    ) -> tuple[Scalar, ...]:
        """The indices within the part of some phases."""
        by_letter = dict(
            zip(self.letters, zip(self.axes, groups, phases, strict=True), strict=True)
        )
        letters = [axis.letter for axis in parse_layout(self.layout)]
        positions = iter(range(len(indices)))
        found: list[Scalar] = []
        for letter, is_phase in self.order:
            if letter not in by_letter:
                found.append(indices[next(positions)])
                continue
            axis, group, phase = by_letter[letter]
            if is_phase:
                found.append(group.number(phase))
            else:
                next(positions)
                found.append(quotient(indices[letters.index(letter)], axis.stride))
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
    weight: Tensor,
    layout: str,
    form: _PhaseForm,
    groups: Sequence[PhaseGroup],
    channels: ChannelGroups,
) -> Tensor:
    """The weight as [phase ..., tap ..., input channel of the group, output channel].

    Taps run backwards, so that a later tap reads a later element of the data.
    """
    rank = len(groups)
    shape = (
        *(group.count for group in groups),
        *(group.taps for group in groups),
        channels.inputs,
        channels.outputs * channels.groups,
    )

    def element(*indices: Scalar) -> Scalar:
        channel, output = indices[-2:]
        position: dict[str, Index] = {
            "I": channels.input_channel(output, channel),
            "O": output if channels.groups == 1 else remainder(output, channels.outputs),
        }
        for n, (letter, group) in enumerate(zip(form.letters, groups, strict=True)):
            later = (group.taps - 1 - indices[rank + n]) * form.axes[n].tap_step
            position[letter] = group.first_tap(indices[n]) + later
        return load_at(weight, layout, position)

    return compute_elements("phase_weight", shape, element)


def convolution_transpose_reference(attributes: Any, data: Array, weight: Array) -> Array:
    """Transposed convolution: taps add products to every stride-th position of the result."""
    letters = spatial_letters(attributes.data_layout)
    dtype = attributes.out_dtype or data.dtype.name
    values = summation_array(as_whole(data, attributes.data_layout, "NC" + letters), dtype)
    kernel = summation_array(as_whole(weight, attributes.kernel_layout, "IO" + letters), dtype)
    windows = windows_of(attributes, kernel.shape[2:])
    extra = as_tuple(attributes.output_padding, len(letters), "output_padding")
    full = _scatter_products(values, kernel, windows, attributes.groups, extra)
    crop = [
        slice(before, extent - after)
        for before, after, extent in zip(windows.before, windows.after, full.shape[2:], strict=True)
    ]
    result = sums_as(full[(slice(None), slice(None), *crop)], dtype)
    return as_stored(result, "NC" + letters, attributes.out_layout or attributes.data_layout)


def _scatter_products(
    values: Array, kernel: Array, windows: Windows, groups: int, extra: Sequence[int]
) -> Array:
    """The uncropped result, as [batch, channel, spatial ...]."""
    batch, channels = values.shape[:2]
    positions = values.shape[2:]
    grouped = kernel.reshape(groups, channels // groups, -1, *windows.size).swapaxes(1, 2)
    columns = values.reshape(batch, groups, channels // groups, prod(positions))
    extents = [
        (size - 1) * stride + span + more
        for size, stride, span, more in zip(
            positions, windows.strides, windows.span, extra, strict=True
        )
    ]
    full = np.zeros((batch, groups * grouped.shape[1], *extents), values.dtype)
    for offset in np.ndindex(*windows.size):
        product = multiply_groups(grouped[(..., *offset)], columns)
        where = window_slices(offset, positions, windows.strides, windows.dilation)
        full[(slice(None), slice(None), *where)] += product.reshape(
            batch, full.shape[1], *positions
        )
    return full
