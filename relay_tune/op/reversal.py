"""Reversed orders: reverse, reverse_sequence, invert_permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, moved
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Axis, Scalar, binary, cast, reduce, select
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.elementwise import identity
from relay_tune.typing.relations.shape import reverse as reverse_relation
from relay_tune.typing.relations.shape import reverse_sequence as reverse_sequence_relation


@dataclass(frozen=True)
class ReverseAttributes(Attributes):
    """Attributes of reverse.

    Attributes:
        axis: the axis, or axes, along which the order is reversed.
    """

    axis: int | tuple[int, ...]


@dataclass(frozen=True)
class ReverseSequenceAttributes(Attributes):
    """Attributes of reverse_sequence.

    Attributes:
        seq_axis: the axis along which the sequences run.
        batch_axis: the axis along which the sequences are numbered.
    """

    seq_axis: int = 1
    batch_axis: int = 0


def _axes(attributes: ReverseAttributes, rank: int) -> tuple[int, ...]:
    given = (attributes.axis,) if isinstance(attributes.axis, int) else attributes.axis
    return tuple(axis % rank for axis in given)


def _reverse(attributes: ReverseAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    axes = _axes(attributes, data.rank)

    def source_indices(*output: Scalar) -> list[Scalar]:
        return [
            binary("sub", data.shape[n] - 1, index) if n in axes else index
            for n, index in enumerate(output)
        ]

    return [moved("reverse", types[0], data, source_indices)]


def _reverse_reference(attributes: ReverseAttributes, data: Array) -> Array:
    return np.flip(data, _axes(attributes, data.ndim))


def _reverse_sequence(attributes: ReverseSequenceAttributes, inputs: Any, types: Any) -> list[Any]:
    data, lengths = inputs
    seq_axis, batch_axis = attributes.seq_axis % data.rank, attributes.batch_axis % data.rank

    def source_indices(*output: Scalar) -> list[Scalar]:
        index = output[seq_axis]
        given = cast(lengths[output[batch_axis]], INDEX)
        length = binary("min", given, data.shape[seq_axis])
        mirrored = select(binary("lt", index, length), length - 1 - index, index)
        return [mirrored if n == seq_axis else axis for n, axis in enumerate(output)]

    return [moved("reverse_sequence", types[0], data, source_indices)]


def _reverse_sequence_reference(
    attributes: ReverseSequenceAttributes, data: Array, lengths: Array
) -> Array:
    moved_data = np.moveaxis(data, (attributes.batch_axis, attributes.seq_axis), (0, 1))
    result = moved_data.copy()
    for row, length in enumerate(lengths.tolist()):
        stop = max(0, min(length, moved_data.shape[1]))
        result[row, :stop] = moved_data[row, :stop][::-1]
    return np.moveaxis(result, (0, 1), (attributes.batch_axis, attributes.seq_axis))


def _invert_permutation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    position = Axis("r0", data.shape[0], dtype=INDEX)

    def element(index: Scalar) -> Scalar:
        here = binary("eq", cast(data[position], INDEX), index)
        return reduce("max", [position], select(here, cast(position, data.dtype), 0))

    return [compute("invert_permutation", data.shape, element)]


def _invert_permutation_reference(attributes: Attributes, data: Array) -> Array:
    result = np.zeros_like(data)
    result[data] = np.arange(len(data), dtype=data.dtype)
    return result


reverse = define(
    name="reverse",
    arguments=("data",),
    relation=reverse_relation,
    kind=FusionKind.INJECTIVE,
    attributes=ReverseAttributes,
    compute=_reverse,
    reference=_reverse_reference,
    documentation="The data in reversed order along one axis or several.",
)
reverse_sequence = define(
    name="reverse_sequence",
    arguments=("data", "seq_lengths"),
    relation=reverse_sequence_relation,
    kind=FusionKind.INJECTIVE,
    attributes=ReverseSequenceAttributes,
    compute=_reverse_sequence,
    reference=_reverse_sequence_reference,
    documentation="For each sequence of a batch its first seq_lengths elements reversed.",
)
invert_permutation = define(
    name="invert_permutation",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.REDUCTION,
    compute=_invert_permutation,
    reference=_invert_permutation_reference,
    documentation="For a vector that is a permutation of 0 .. n-1, where each number stands.",
)
