"""Tensors made from attributes or from types: zeros, full, arange, shape_of, copy."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array, elementwise, integer_shape, number
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, binary, cast, literal, select
from relay_tune.tensor.scalar_semantics import convert, is_float, numpy_dtype
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.creation import arange as arange_relation
from relay_tune.typing.relations.creation import filled, size_of
from relay_tune.typing.relations.creation import full as full_relation
from relay_tune.typing.relations.creation import full_like as full_like_relation
from relay_tune.typing.relations.creation import shape_of as shape_of_relation
from relay_tune.typing.relations.elementwise import identity


@dataclass(frozen=True)
class FilledAttributes(Attributes):
    """Attributes of zeros and ones.

    Attributes:
        shape: the shape of the result.
        dtype: its element type.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(frozen=True)
class FullAttributes(Attributes):
    """Attributes of full.

    Attributes:
        shape: the shape of the result.
        dtype: its element type; empty: that of the value.
    """

    shape: tuple[int, ...] = ()
    dtype: str = ""


@dataclass(frozen=True)
class ArangeAttributes(Attributes):
    """Attributes of arange.

    Attributes:
        start: the first number.
        stop: numbers stop before this one.
        step: the distance of neighbours.
        dtype: the element type.
    """

    start: int | float = 0
    stop: int | float = 0
    step: int | float = 1
    dtype: str = "float32"


@dataclass(frozen=True)
class ShapeOfAttributes(Attributes):
    """Attributes of shape_of and ndarray_size.

    Attributes:
        dtype: the element type of the result.
    """

    dtype: str = "int32"


def _constant_operator(name: str, value: int, documentation: str) -> Operator:
    def meaning(attributes: FilledAttributes) -> Array:
        return np.full(attributes.shape, value, numpy_dtype(attributes.dtype))

    return define(
        name=name,
        arguments=(),
        relation=filled,
        kind=FusionKind.ELEMENTWISE,
        attributes=FilledAttributes,
        compute=_filled_with(value),
        reference=meaning,
        documentation=documentation,
    )


def _like_operator(name: str, value: int, documentation: str) -> Operator:
    def meaning(attributes: Attributes, data: Array) -> Array:
        return np.full(data.shape, value, data.dtype)

    return define(
        name=name,
        arguments=("data",),
        relation=identity,
        kind=FusionKind.ELEMENTWISE,
        compute=_filled_with(value),
        reference=meaning,
        documentation=documentation,
    )


def _filled_with(value: int) -> Callable[[Any, Any, Any], list[Any]]:
    def computation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
        shape, dtype = integer_shape(types[0]), types[0].dtype
        return [compute("filled", shape, lambda *_: number(value, dtype))]

    return computation


def _full(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    """The value is the last argument."""
    dtype = types[0].dtype
    shape = integer_shape(types[0])
    return [elementwise("full", shape, inputs[-1:], lambda value: cast(value, dtype))]


def _full_reference(attributes: FullAttributes, value: Array) -> Array:
    dtype = attributes.dtype or value.dtype.name
    return np.broadcast_to(convert(np.asarray(value), dtype), attributes.shape)


def _full_like_reference(attributes: Attributes, data: Array, value: Array) -> Array:
    return np.broadcast_to(convert(np.asarray(value), data.dtype.name), data.shape)


def _arange(attributes: ArangeAttributes, inputs: Any, types: Any) -> list[Any]:
    dtype = types[0].dtype
    work = _arange_dtype(attributes)

    def element(index: Scalar) -> Scalar:
        step, start = number(attributes.step, work), number(attributes.start, work)
        return cast(cast(index, work) * step + start, dtype)

    return [compute("arange", integer_shape(types[0]), element)]


def _arange_dtype(attributes: ArangeAttributes) -> str:
    """The type to calculate in: float64 rounds each element of a float type just once."""
    whole = isinstance(attributes.start, int) and isinstance(attributes.step, int)
    return INDEX if whole and not is_float(attributes.dtype) else "float64"


def _arange_reference(attributes: ArangeAttributes) -> Array:
    count = max(0, math.ceil((attributes.stop - attributes.start) / attributes.step))
    positions = np.arange(count).astype(_arange_dtype(attributes))
    return convert(positions * attributes.step + attributes.start, attributes.dtype)


def _shape_of(attributes: ShapeOfAttributes, inputs: Any, types: Any) -> list[Any]:
    shape, dtype = inputs[0].shape, types[0].dtype

    def element(axis: Scalar) -> Scalar:
        result: Scalar = literal(shape[-1], dtype)
        for index in reversed(range(len(shape) - 1)):
            result = select(binary("eq", axis, index), literal(shape[index], dtype), result)
        return result

    if not shape:
        return [compute("shape_of", (0,), lambda _: literal(0, dtype))]
    return [compute("shape_of", (len(shape),), element)]


def _shape_of_reference(attributes: ShapeOfAttributes, data: Array) -> Array:
    return np.array(data.shape, numpy_dtype(attributes.dtype))


def _size(attributes: ShapeOfAttributes, inputs: Any, types: Any) -> list[Any]:
    count = prod(inputs[0].shape)
    return [compute("ndarray_size", (), lambda: number(count, types[0].dtype))]


def _size_reference(attributes: ShapeOfAttributes, data: Array) -> Array:
    return np.array(data.size, numpy_dtype(attributes.dtype))


def _copy(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    return [elementwise("copy", integer_shape(types[0]), inputs, lambda x: x)]


def _copy_reference(attributes: Attributes, data: Array) -> Array:
    return data.copy()


zeros = _constant_operator("zeros", 0, "A tensor of zeros.")
ones = _constant_operator("ones", 1, "A tensor of ones.")
zeros_like = _like_operator("zeros_like", 0, "Zeros of the type of the data.")
ones_like = _like_operator("ones_like", 1, "Ones of the type of the data.")
full = define(
    name="full",
    arguments=("fill_value",),
    relation=full_relation,
    kind=FusionKind.ELEMENTWISE,
    attributes=FullAttributes,
    compute=_full,
    reference=_full_reference,
    documentation="A tensor with one scalar value everywhere.",
)
full_like = define(
    name="full_like",
    arguments=("data", "fill_value"),
    relation=full_like_relation,
    kind=FusionKind.ELEMENTWISE,
    compute=_full,
    reference=_full_like_reference,
    documentation="A tensor of the type of the data with one scalar value everywhere.",
)
arange = define(
    name="arange",
    arguments=(),
    relation=arange_relation,
    kind=FusionKind.ELEMENTWISE,
    attributes=ArangeAttributes,
    compute=_arange,
    reference=_arange_reference,
    documentation="The numbers start, start + step, ... before stop; see dyn.arange.",
)
shape_of = define(
    name="shape_of",
    arguments=("data",),
    relation=shape_of_relation,
    kind=FusionKind.OPAQUE,
    attributes=ShapeOfAttributes,
    compute=_shape_of,
    reference=_shape_of_reference,
    documentation="The shape of the data as a vector.",
)
ndarray_size = define(
    name="ndarray_size",
    arguments=("data",),
    relation=size_of,
    kind=FusionKind.INJECTIVE,
    attributes=ShapeOfAttributes,
    compute=_size,
    reference=_size_reference,
    documentation="The number of elements of the data, a scalar.",
)
copy = define(
    name="copy",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    compute=_copy,
    reference=_copy_reference,
    documentation="The same elements in memory of their own.",
)
