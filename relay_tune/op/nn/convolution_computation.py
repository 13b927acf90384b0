"""Convolution over any number of spatial axes, in any layout: its computation and its reference.

The computation is an optional stage that pads the data, then one reduction over channels and kernel
elements with affine indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.op.elements import Array, wide_dtype
from relay_tune.op.layout_arrays import (
    as_stored,
    as_whole,
    pad_spatial_array,
    summation_array,
    sums_as,
    window_slices,
)
from relay_tune.op.layout_indices import (
    Index,
    ReductionAxes,
    SplitIndex,
    cast_tensor,
    channel_block,
    compute_elements,
    letter_positions,
    letter_sizes,
    load_at,
    quotient,
    spatial_letters,
    whole,
)
from relay_tune.op.nn.windows import Windows, pad_data, windows_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast, reduce
from relay_tune.typing.windows import window_count


@dataclass(frozen=True, slots=True)
class ChannelGroups:
    """How output channels choose their input channels.

    Attributes:
        inputs: input channels of one group.
        outputs: output channels of one group.
        groups: the number of groups.
    """

    inputs: int
    outputs: int
    groups: int

    def input_channel(self, output: Index, place: Index) -> Index:
        """The input channel at `place` in the group that `output` belongs to."""
        if self.groups == 1:
            return place
        if self.inputs == self.outputs == 1:
            return output
        if self._keeps_blocks(output, place):
            assert isinstance(output, SplitIndex) and isinstance(place, SplitIndex)
            group = quotient(output.block, self.outputs // output.size)
            block = group * (self.inputs // place.size) + place.block
            return SplitIndex(block, place.place, place.size)
        return quotient(whole(output), self.outputs) * self.inputs + whole(place)

    def _keeps_blocks(self, output: Index, position: Index) -> bool:
        return (
            isinstance(output, SplitIndex)
            and isinstance(position, SplitIndex)
            and self.outputs % output.size == 0
            and self.inputs % position.size == 0
        )


def convolution(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> Sequence[Tensor]:
    """The tensors of a convolution call; accumulates short floats in float32."""
    data, weight = inputs
    letters = spatial_letters(attributes.data_layout)
    sizes = letter_sizes(weight.shape, attributes.kernel_layout)
    windows = windows_of(attributes, [sizes[letter] for letter in letters])
    groups = ChannelGroups(sizes["I"], sizes["O"] // attributes.groups, attributes.groups)
    padded = pad_data(data, attributes.data_layout, windows.before, windows.after)
    out_layout = attributes.out_layout or attributes.data_layout
    accumulator = wide_dtype(types[0].dtype)

    def element(*axes: Scalar) -> Scalar:
        output = letter_positions(out_layout, axes)
        reduction = ReductionAxes()
        channel, offsets = reduction_indices(
            reduction, attributes.data_layout, groups.inputs, windows.size
        )
        position = {"N": output["N"], "C": groups.input_channel(output["C"], channel)}
        for letter, offset, stride, step in zip(
            letters, offsets, windows.strides, windows.dilation, strict=True
        ):
            position[letter] = whole(output[letter]) * stride + offset * step
        kernel_position: dict[str, Index] = {"O": output["C"], "I": channel}
        kernel_position.update(zip(letters, offsets, strict=True))
        value = cast(load_at(padded, attributes.data_layout, position), accumulator)
        factor = cast(load_at(weight, attributes.kernel_layout, kernel_position), accumulator)
        return reduce("sum", reduction.axes, value * factor, attributes.sum_bits)

    result = compute_elements("convolution", types[0].shape, element)
    return [cast_tensor(result, types[0].dtype)]


def convolution_reference(attributes: Any, data: Array, weight: Array) -> Array:
    """Convolution as one matrix product for each offset of the window."""
    letters = spatial_letters(attributes.data_layout)
    dtype = attributes.out_dtype or data.dtype.name
    values = summation_array(as_whole(data, attributes.data_layout, "NC" + letters), dtype)
    kernel = summation_array(as_whole(weight, attributes.kernel_layout, "OI" + letters), dtype)
    windows = windows_of(attributes, kernel.shape[2:])
    outputs = _output_sizes(letters, values.shape[2:], windows)
    padded = pad_spatial_array(values, windows.before, windows.after, 0)
    result = _sum_over_window(padded, kernel, windows, outputs, attributes.groups)
    out_layout = attributes.out_layout or attributes.data_layout
    return as_stored(sums_as(result, dtype), "NC" + letters, out_layout)


def _output_sizes(letters: str, sizes: Sequence[int], windows: Windows) -> list[int]:
    """How many windows there are on each axis; RelationError where one is larger than the axis."""
    found = [
        window_count(
            letter,
            sizes[n],
            windows.size[n],
            windows.strides[n],
            windows.dilation[n],
            (windows.before[n], windows.after[n]),
        )
        for n, letter in enumerate(letters)
    ]
    return [size for size in found if isinstance(size, int)]


def _sum_over_window(
    padded: Array, kernel: Array, windows: Windows, outputs: Sequence[int], groups: int
) -> Array:
    """The sum of kernel[offset] @ data shifted by the offset, for each group of channels."""
    batch, channels = padded.shape[:2]
    grouped = kernel.reshape(groups, -1, channels // groups, *windows.size)
    total = np.zeros((batch, groups, grouped.shape[1], int(np.prod(outputs))), padded.dtype)
    for offset in np.ndindex(*windows.size):
        where = window_slices(offset, outputs, windows.strides, windows.dilation)
        shifted = padded[(slice(None), slice(None), *where)]
        shifted = shifted.reshape(batch, groups, channels // groups, total.shape[-1])
        total += multiply_groups(grouped[(..., *offset)], shifted)
    return total.reshape(batch, len(kernel), *outputs)


def multiply_groups(kernel: Array, data: Array) -> Array:
    """kernel[group, out, in] @ data[batch, group, in, position]; elementwise where `in` is 1."""
    if kernel.shape[-1] == 1:
        return np.asarray(kernel * data)
    return np.asarray(np.matmul(kernel, data))


def reduction_indices(
    reduction: ReductionAxes, layout: str, channels: int, window: Sequence[int]
) -> tuple[Index, list[Scalar]]:
    """New axes of a reduction: the channel within its group, and the kernel element.

    Where `layout` has blocks of channels that divide `channels`, the position in one is innermost.
    """
    block = channel_block(layout)
    names = [f"k{letter.lower()}" for letter in spatial_letters(layout)]
    if block == 0 or channels % block:
        channel = reduction.add("c", channels)
        return channel, [reduction.add(n, k) for n, k in zip(names, window, strict=True)]
    outer = reduction.add("cb", channels // block)
    positions = [reduction.add(n, k) for n, k in zip(names, window, strict=True)]
    return SplitIndex(outer, reduction.add("ci", block), block), positions
