"""Tensors made of positions: one_hot, sequence_mask, unravel_index."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape, load_at, number
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, binary, cast, select
from relay_tune.tensor.scalar_semantics import convert, numpy_dtype
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.indexing import one_hot as one_hot_relation
from relay_tune.typing.relations.indexing import sequence_mask as sequence_mask_relation
from relay_tune.typing.relations.indexing import unravel_index as unravel_index_relation


@dataclass(frozen=True)
class OneHotAttributes(Attributes):
    """Attributes of one_hot.

    Attributes:
        depth: the size of the new axis.
        axis: the position of the new axis in the result; -1: last.
        dtype: the element type of the result.
    """

    depth: int
    axis: int = -1
    dtype: str = "float32"


@dataclass(frozen=True)
class SequenceMaskAttributes(Attributes):
    """Attributes of sequence_mask.

    Attributes:
        mask_value: what stands behind the end of a sequence.
        axis: the axis along which sequences run, 0 or 1; the other one numbers them.
    """

    mask_value: float = 0.0
    axis: int = 0


def _one_hot(attributes: OneHotAttributes, inputs: Any, types: Any) -> list[Any]:
    indices, on_value, off_value = inputs
    position = indices.rank if attributes.axis == -1 else attributes.axis
    dtype = types[0].dtype

    def element(*output: Scalar) -> Scalar:
        index = load_at(indices, [*output[:position], *output[position + 1 :]])
        hit = binary("eq", cast(index, INDEX), output[position])
        return select(hit, cast(on_value[()], dtype), cast(off_value[()], dtype))

    return [compute("one_hot", integer_shape(types[0]), element)]


def _one_hot_reference(
    attributes: OneHotAttributes, indices: Array, on_value: Array, off_value: Array
) -> Array:
    position = indices.ndim if attributes.axis == -1 else attributes.axis
    hits = np.expand_dims(indices.astype(np.int64), -1) == np.arange(attributes.depth)
    values = [convert(np.asarray(v), attributes.dtype) for v in (on_value, off_value)]
    return np.where(np.moveaxis(hits, -1, position), *values)


def _sequence_mask(attributes: SequenceMaskAttributes, inputs: Any, types: Any) -> list[Any]:
    data, lengths = inputs
    axis = attributes.axis % data.rank

    def element(*output: Scalar) -> Scalar:
        length = cast(load_at(lengths, [output[1 - axis]]), INDEX)
        value = load_at(data, output)
        return select(
            binary("lt", output[axis], length), value, number(attributes.mask_value, data.dtype)
        )

    return [compute("sequence_mask", data.shape, element)]


def _sequence_mask_reference(
    attributes: SequenceMaskAttributes, data: Array, lengths: Array
) -> Array:
    axis = attributes.axis % data.ndim
    positions = np.arange(data.shape[axis])
    limits = lengths.astype(np.int64)
    kept = positions[:, None] < limits[None] if axis == 0 else positions[None] < limits[:, None]
    kept = kept.reshape(kept.shape + (1,) * (data.ndim - 2))
    mask_value = numpy_dtype(data.dtype.name).type(attributes.mask_value)
    return np.where(kept, data, mask_value)


def _unravel_index(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    indices, shape = inputs

    def element(coordinate: Scalar, *output: Scalar) -> Scalar:
        rest = cast(load_at(indices, output), INDEX)
        coordinates = []
        for axis in reversed(range(shape.shape[0])):
            size = cast(shape[axis], INDEX)
            coordinates.append(binary("floormod", rest, size))
            rest = binary("floordiv", rest, size)
        result = coordinates[0]
        for axis, value in zip(range(shape.shape[0] - 2, -1, -1), coordinates[1:], strict=True):
            result = select(binary("eq", coordinate, axis), value, result)
        return cast(result, indices.dtype)

    return [compute("unravel_index", integer_shape(types[0]), element)]


def _unravel_index_reference(attributes: Attributes, indices: Array, shape: Array) -> Array:
    sizes = tuple(shape.tolist())
    if not sizes:
        return np.zeros((0, *indices.shape), indices.dtype)
    wide = indices.astype(np.int64)
    coordinates = np.unravel_index(np.where(wide < 0, wide + prod(sizes), wide), sizes)
    return np.stack([np.asarray(c) for c in coordinates]).astype(indices.dtype)


one_hot = define(
    name="one_hot",
    arguments=("indices", "on_value", "off_value"),
    relation=one_hot_relation,
    kind=FusionKind.INJECTIVE,
    attributes=OneHotAttributes,
    compute=_one_hot,
    reference=_one_hot_reference,
    documentation=(
        "A new axis with on_value where its position is the index and off_value elsewhere; "
        "an index outside of the axis gives off_value only."
    ),
)
sequence_mask = define(
    name="sequence_mask",
    arguments=("data", "valid_length"),
    relation=sequence_mask_relation,
    kind=FusionKind.INJECTIVE,
    attributes=SequenceMaskAttributes,
    compute=_sequence_mask,
    reference=_sequence_mask_reference,
    documentation="The data with mask_value behind the valid length of each sequence.",
)
unravel_index = define(
    name="unravel_index",
    arguments=("indices", "shape"),
    relation=unravel_index_relation,
    kind=FusionKind.INJECTIVE,
    compute=_unravel_index,
    reference=_unravel_index_reference,
    documentation=(
        "The coordinates, along a new first axis, of flat indices in a shape. Negative indices "
        "count from the end."
    ),
)
