"""Other shapes and orders of axes: reshape, transpose, squeeze, expand_dims."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType
from relay_tune.op.element_counts import kept_elements
from relay_tune.op.elements import Array, integer_shape, moved
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar
from relay_tune.typing.relations.reshape_codes import reshaped
from relay_tune.typing.relations.shape import expand_dims as expand_dims_relation
from relay_tune.typing.relations.shape import reshape as reshape_relation
from relay_tune.typing.relations.shape import reshape_like as reshape_like_relation
from relay_tune.typing.relations.shape import squeeze as squeeze_relation
from relay_tune.typing.relations.shape import transpose as transpose_relation


@dataclass(frozen=True)
class ReshapeAttributes(Attributes):
    """Attributes of reshape.

    Attributes:
        newshape: sizes, and codes: 0 copies a size, -1 is inferred, -2 copies all that are left,
            -3 joins two axes, -4 splits one into the two sizes that follow.
        allowzero: whether 0 is a size instead of a code.
    """

    newshape: tuple[int, ...]
    allowzero: bool = False


@dataclass(frozen=True)
class ReshapeLikeAttributes(Attributes):
    """Attributes of reshape_like: data axes [lhs_begin, lhs_end) take sizes [rhs_begin, rhs_end).

    Attributes:
        lhs_begin: the first axis of the data to replace.
        lhs_end: the axis behind the last one to replace; None: all to the end.
        rhs_begin: the first axis of shape_like to take.
        rhs_end: the axis behind the last one to take; None: all to the end.
    """

    lhs_begin: int = 0
    lhs_end: int | None = None
    rhs_begin: int = 0
    rhs_end: int | None = None


@dataclass(frozen=True)
class TransposeAttributes(Attributes):
    """Attributes of transpose.

    Attributes:
        axes: for each axis of the result the axis of the data; None reverses all.
    """

    axes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SqueezeAttributes(Attributes):
    """Attributes of squeeze.

    Attributes:
        axis: the axes of size 1 to remove; None: all of them.
    """

    axis: int | tuple[int, ...] | None = None


@dataclass(frozen=True)
class ExpandDimsAttributes(Attributes):
    """Attributes of expand_dims.

    Attributes:
        axis: the position of the first new axis in the result.
        num_newaxis: the number of new axes.
    """

    axis: int
    num_newaxis: int = 1


def reshape_computation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    """The elements of the first argument in the shape of the result; `element_counts` of primitives
    say what is checked of their sizes."""
    return [reshaped_tensor("reshape", inputs[0], integer_shape(types[0]), checked=True)]


def _reshape_reference(attributes: ReshapeAttributes, data: Array) -> Array:
    type_ = TensorType(data.shape, data.dtype.name)
    shape = reshaped(type_, tuple(attributes.newshape), attributes.allowzero)
    return data.reshape([int(str(size)) for size in shape])


def _reshape_like_reference(attributes: ReshapeLikeAttributes, data: Array, like: Array) -> Array:
    begin, end, _ = slice(attributes.lhs_begin, attributes.lhs_end).indices(data.ndim)
    middle = like.shape[slice(attributes.rhs_begin, attributes.rhs_end)]
    return data.reshape((*data.shape[:begin], *middle, *data.shape[end:]))


def _transpose(attributes: TransposeAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    axes = source_axes(attributes, data.rank)

    def source_indices(*output: Scalar) -> list[Scalar]:
        return [output[axes.index(axis)] for axis in range(data.rank)]

    return [moved("transpose", types[0], data, source_indices)]


def source_axes(attributes: TransposeAttributes, rank: int) -> tuple[int, ...]:
    """For each axis of the result of transpose the axis of the data, counted from the front."""
    if attributes.axes is None:
        return tuple(reversed(range(rank)))
    return tuple(axis % rank for axis in attributes.axes)


def _transpose_reference(attributes: TransposeAttributes, data: Array) -> Array:
    return data.transpose(source_axes(attributes, data.ndim))


def _squeeze_reference(attributes: SqueezeAttributes, data: Array) -> Array:
    axis = attributes.axis
    return np.squeeze(data, axis if axis is None or isinstance(axis, int) else tuple(axis))


def _expand_dims_reference(attributes: ExpandDimsAttributes, data: Array) -> Array:
    position = attributes.axis if attributes.axis >= 0 else data.ndim + 1 + attributes.axis
    ones = (1,) * attributes.num_newaxis
    return data.reshape((*data.shape[:position], *ones, *data.shape[position:]))


reshape = define(
    name="reshape",
    arguments=("data",),
    relation=reshape_relation,
    kind=FusionKind.INJECTIVE,
    attributes=ReshapeAttributes,
    compute=reshape_computation,
    reference=_reshape_reference,
    element_counts=kept_elements,
    documentation="The same elements, in row-major order, in another shape.",
)
reshape_like = define(
    name="reshape_like",
    arguments=("data", "shape_like"),
    relation=reshape_like_relation,
    kind=FusionKind.INJECTIVE,
    attributes=ReshapeLikeAttributes,
    compute=reshape_computation,
    reference=_reshape_like_reference,
    element_counts=kept_elements,
    documentation="The elements of data, with a range of axes reshaped as in shape_like.",
)
transpose = define(
    name="transpose",
    arguments=("data",),
    relation=transpose_relation,
    kind=FusionKind.INJECTIVE,
    attributes=TransposeAttributes,
    compute=_transpose,
    reference=_transpose_reference,
    documentation="The same elements with the axes in another order.",
)
squeeze = define(
    name="squeeze",
    arguments=("data",),
    relation=squeeze_relation,
    kind=FusionKind.INJECTIVE,
    attributes=SqueezeAttributes,
    compute=reshape_computation,
    reference=_squeeze_reference,
    element_counts=kept_elements,
    documentation="The same elements without axes of size 1.",
)
expand_dims = define(
    name="expand_dims",
    arguments=("data",),
    relation=expand_dims_relation,
    kind=FusionKind.BROADCAST,
    attributes=ExpandDimsAttributes,
    compute=reshape_computation,
    reference=_expand_dims_reference,
    element_counts=kept_elements,
    documentation="The same elements with new axes of size 1.",
)
