"""Tensors joined along an axis, or cut apart: concatenate, stack, split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.element_counts import kept_elements
from relay_tune.op.elements import Array, integer_shape, load_at, moved
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, select
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.joining import concatenate as concatenate_relation
from relay_tune.typing.relations.joining import split as split_relation
from relay_tune.typing.relations.joining import stack as stack_relation


@dataclass(frozen=True)
class ConcatenateAttributes(Attributes):
    """Attributes of concatenate.

    Attributes:
        axis: the axis along which the tensors stand one after the other.
    """

    axis: int = 0


@dataclass(frozen=True)
class StackAttributes(Attributes):
    """Attributes of stack.

    Attributes:
        axis: the position of the new axis in the result.
    """

    axis: int = 0


@dataclass(frozen=True)
class SplitAttributes(Attributes):
    """Attributes of split.

    Attributes:
        indices_or_sections: a number of equal parts, or the positions where to cut.
        axis: the axis that is cut.
    """

    indices_or_sections: int | tuple[int, ...]
    axis: int = 0


def _concatenate(attributes: ConcatenateAttributes, inputs: Any, types: Any) -> list[Any]:
    (tensors,) = inputs
    axis = attributes.axis % tensors[0].rank
    shape = integer_shape(types[0])
    return [compute("concatenate", shape, partial(_joined, _parts(tensors, axis), axis))]


def _parts(tensors: Sequence[Tensor], axis: int) -> list[tuple[int, Tensor]]:
    """Each tensor that is not empty along the axis, with its offset in the result."""
    parts: list[tuple[int, Tensor]] = []
    offset = 0
    for tensor in tensors:
        if tensor.shape[axis]:
            parts.append((offset, tensor))
        offset += tensor.shape[axis]
    return parts or [(0, tensors[0])]


def _joined(parts: Sequence[tuple[int, Tensor]], axis: int, *output: Scalar) -> Scalar:
    """The element of the part that the output position falls into, found by bisection."""
    if len(parts) == 1:
        offset, tensor = parts[0]
        return load_at(tensor, _shifted(output, axis, offset))
    middle = len(parts) // 2
    before = _joined(parts[:middle], axis, *output)
    after = _joined(parts[middle:], axis, *output)
    return select(binary("lt", output[axis], parts[middle][0]), before, after)


def _shifted(output: Sequence[Scalar], axis: int, offset: int) -> list[Scalar]:
    return [index - offset if n == axis else index for n, index in enumerate(output)]


def _concatenate_reference(attributes: ConcatenateAttributes, arrays: tuple[Array, ...]) -> Array:
    return np.concatenate(arrays, attributes.axis)


def _stack(attributes: StackAttributes, inputs: Any, types: Any) -> list[Any]:
    (tensors,) = inputs
    axis = attributes.axis % (tensors[0].rank + 1)

    def element(*output: Scalar) -> Scalar:
        rest = [*output[:axis], *output[axis + 1 :]]
        return _chosen(output[axis], rest, tensors, 0)

    return [compute("stack", integer_shape(types[0]), element)]


def _chosen(index: Scalar, rest: Sequence[Scalar], tensors: Sequence[Tensor], first: int) -> Scalar:
    """The element at `rest` of the tensor number `index - first`, found by bisection."""
    if len(tensors) == 1:
        return load_at(tensors[0], rest)
    middle = len(tensors) // 2
    before = _chosen(index, rest, tensors[:middle], first)
    after = _chosen(index, rest, tensors[middle:], first + middle)
    return select(binary("lt", index, first + middle), before, after)


def _stack_reference(attributes: StackAttributes, arrays: tuple[Array, ...]) -> Array:
    return np.stack(arrays, attributes.axis)


def _split(attributes: SplitAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    axis = attributes.axis % data.rank
    offset = 0
    parts = []
    for type_ in types:
        parts.append(moved("split", type_, data, partial(_offset_indices, axis, offset)))
        offset += integer_shape(type_)[axis]
    return parts


def _offset_indices(axis: int, offset: int, *output: Scalar) -> list[Scalar]:
    return [index + offset if n == axis else index for n, index in enumerate(output)]


def _split_reference(attributes: SplitAttributes, data: Array) -> tuple[Array, ...]:
    return tuple(np.split(data, attributes.indices_or_sections, attributes.axis))


concatenate = define(
    name="concatenate",
    arguments=("data",),
    relation=concatenate_relation,
    kind=FusionKind.INJECTIVE,
    attributes=ConcatenateAttributes,
    compute=_concatenate,
    reference=_concatenate_reference,
    documentation="The tensors of a tuple one after the other along an axis.",
)
stack = define(
    name="stack",
    arguments=("data",),
    relation=stack_relation,
    kind=FusionKind.INJECTIVE,
    attributes=StackAttributes,
    compute=_stack,
    reference=_stack_reference,
    documentation="The tensors of a tuple, all of one shape, along a new axis.",
)
split = define(
    name="split",
    arguments=("data",),
    relation=split_relation,
    kind=FusionKind.INJECTIVE,
    attributes=SplitAttributes,
    compute=_split,
    reference=_split_reference,
    element_counts=kept_elements,
    documentation="A tuple of the parts of the data along an axis.",
)
