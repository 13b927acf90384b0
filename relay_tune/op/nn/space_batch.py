"""nn.space_to_batch_nd, nn.batch_to_space_nd, nn.dilate: elements spread over other axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import add, product
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType
from relay_tune.op.elements import Array, number
from relay_tune.op.layout_indices import compute_elements, quotient, remainder
from relay_tune.op.nn.windows import conjunction, pad_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, select
from relay_tune.typing.relations import layout as relations_layout
from relay_tune.typing.relations.shape import dilate as dilate_relation

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SpaceToBatchAttributes(Attributes):
    """Attributes of nn.space_to_batch_nd.

    Attributes:
        block_shape: size of a block on each axis after the first.
        paddings: (before, after) of each of these axes.
        pad_value: the value of the padding.
    """

    block_shape: tuple[int, ...]
    paddings: Pairs
    pad_value: float = 0.0


@dataclass(frozen=True)
class BatchToSpaceAttributes(Attributes):
    """Attributes of nn.batch_to_space_nd.

    Attributes:
        block_shape: size of a block on each axis after the first.
        crops: (begin, end) that is cut off from each of these axes.
    """

    block_shape: tuple[int, ...]
    crops: Pairs


@dataclass(frozen=True)
class DilateAttributes(Attributes):
    """Attributes of nn.dilate.

    Attributes:
        strides: distance, in the result, of neighbouring elements of each axis.
        dilation_value: the value in between.
    """

    strides: tuple[int, ...]
    dilation_value: float = 0.0


def _space_to_batch(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data: Tensor = inputs[0]
    blocks = tuple(attributes.block_shape)
    pads = [(0, 0), *attributes.paddings]
    pads += [(0, 0)] * (data.rank - len(pads))
    extents = [size + sum(pair) for size, pair in zip(data.shape, pads, strict=True)]
    border = number(attributes.pad_value, data.dtype)
    padded = pad_axes(data, [before for before, _ in pads], extents, border)

    def element(*axes: Scalar) -> Scalar:
        offsets = _unraveled(quotient(axes[0], data.shape[0]), blocks)
        spread = axes[1 : 1 + len(blocks)]
        positions = [
            position * block + offset
            for position, block, offset in zip(spread, blocks, offsets, strict=True)
        ]
        batch = remainder(axes[0], data.shape[0])
        return padded[(batch, *positions, *axes[1 + len(blocks) :])]

    return [compute_elements("space_to_batch", types[0].shape, element)]


def _unraveled(index: Scalar, sizes: Sequence[int]) -> list[Scalar]:
    """The indices, one for each size, that `index` counts row by row."""
    found: list[Scalar] = []
    for size in reversed(sizes):
        found.append(remainder(index, size))
        index = quotient(index, size)
    return found[::-1]


def _padded_elements(
    attributes: SpaceToBatchAttributes, inputs: Sequence[TensorType], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """The elements that are divided into blocks, and those of the result."""
    shape = list(inputs[0].shape)
    for axis, pair in enumerate(attributes.paddings, start=1):
        shape[axis] = add(shape[axis], sum(pair))
    return product(shape), product(outputs[0].shape)


def _batch_to_space(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data: Tensor = inputs[0]
    blocks = tuple(attributes.block_shape)
    samples = data.shape[0] // prod(blocks)

    def element(*axes: Scalar) -> Scalar:
        moved = [
            axis + begin
            for axis, (begin, _) in zip(axes[1 : 1 + len(blocks)], attributes.crops, strict=True)
        ]
        batch = axes[0]
        stride = samples
        for position, block in zip(reversed(moved), reversed(blocks), strict=True):
            batch = batch + remainder(position, block) * stride
            stride *= block
        positions = [
            quotient(position, block) for position, block in zip(moved, blocks, strict=True)
        ]
        return data[(batch, *positions, *axes[1 + len(blocks) :])]

    return [compute_elements("batch_to_space", types[0].shape, element)]


def _samples(
    attributes: BatchToSpaceAttributes, inputs: Sequence[TensorType], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """The samples that become blocks, and those that the blocks are made of."""
    return inputs[0].shape[0], product((outputs[0].shape[0], *attributes.block_shape))


def _space_to_batch_reference(attributes: SpaceToBatchAttributes, data: Array) -> Array:
    blocks = tuple(attributes.block_shape)
    axes = len(blocks)
    width = [(0, 0), *attributes.paddings] + [(0, 0)] * (data.ndim - 1 - axes)
    padded = np.pad(data, width, constant_values=np.asarray(attributes.pad_value, data.dtype))
    split = [padded.shape[0]]
    for extent, block in zip(padded.shape[1 : 1 + axes], blocks, strict=True):
        split += [extent // block, block]
    rest = padded.shape[1 + axes :]
    offsets, positions = range(2, 2 + 2 * axes, 2), range(1, 1 + 2 * axes, 2)
    tail = range(1 + 2 * axes, 1 + 2 * axes + len(rest))
    moved = padded.reshape(*split, *rest).transpose(*offsets, 0, *positions, *tail)
    counts = [extent // block for extent, block in zip(padded.shape[1:], blocks, strict=False)]
    return np.ascontiguousarray(moved.reshape(-1, *counts, *rest))


def _batch_to_space_reference(attributes: BatchToSpaceAttributes, data: Array) -> Array:
    blocks = tuple(attributes.block_shape)
    axes = len(blocks)
    split = data.reshape(*blocks, -1, *data.shape[1:])
    order = [axes]
    for axis in range(axes):
        order += [axes + 1 + axis, axis]
    order += range(2 * axes + 1, split.ndim)
    sizes = [extent * block for extent, block in zip(data.shape[1:], blocks, strict=False)]
    joined = split.transpose(order).reshape(-1, *sizes, *data.shape[1 + axes :])
    where = [
        slice(begin, size - end) for size, (begin, end) in zip(sizes, attributes.crops, strict=True)
    ]
    return np.ascontiguousarray(joined[(slice(None), *where)])


def _dilate(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data: Tensor = inputs[0]
    between = number(attributes.dilation_value, data.dtype)

    def element(*axes: Scalar) -> Scalar:
        pairs = list(zip(axes, attributes.strides, strict=True))
        hits = [binary("eq", remainder(axis, step), 0) for axis, step in pairs if step > 1]
        value = data[tuple(quotient(axis, step) for axis, step in pairs)]
        condition = conjunction(hits)
        return value if condition is None else select(condition, value, between)

    return [compute_elements("dilate", types[0].shape, element)]


def _dilate_reference(attributes: DilateAttributes, data: Array) -> Array:
    pairs = list(zip(data.shape, attributes.strides, strict=True))
    shape = [max(0, (extent - 1) * step + 1) for extent, step in pairs]
    result = np.full(shape, attributes.dilation_value, data.dtype)
    result[tuple(slice(None, None, step) for _, step in pairs)] = data
    return result


space_to_batch_nd = define(
    name="nn.space_to_batch_nd",
    arguments=("data",),
    relation=relations_layout.space_to_batch_nd,
    kind=FusionKind.INJECTIVE,
    attributes=SpaceToBatchAttributes,
    compute=_space_to_batch,
    reference=_space_to_batch_reference,
    element_counts=_padded_elements,
    documentation="Each place in a block, of all blocks, becomes a sample of its own.",
)

batch_to_space_nd = define(
    name="nn.batch_to_space_nd",
    arguments=("data",),
    relation=relations_layout.batch_to_space_nd,
    kind=FusionKind.INJECTIVE,
    attributes=BatchToSpaceAttributes,
    compute=_batch_to_space,
    reference=_batch_to_space_reference,
    element_counts=_samples,
    documentation="The inverse of nn.space_to_batch_nd.",
)

dilate = define(
    name="nn.dilate",
    arguments=("data",),
    relation=dilate_relation,
    kind=FusionKind.INJECTIVE,
    attributes=DilateAttributes,
    compute=_dilate,
    reference=_dilate_reference,
    documentation="data with a value inserted between neighbouring elements.",
)
