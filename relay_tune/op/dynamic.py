"""Operators whose result shape depends on values: dyn.*, argwhere; see also `unique`.

They have a computation of their results' sizes, after which the elements are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import AttributesClass, FusionKind, Operator, Relation, define
from relay_tune.ir.types import TensorType
from relay_tune.op import dynamic_sizes as sizes
from relay_tune.op.elements import Array
from relay_tune.op.sorting import topk_elements, topk_reference
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.scalar_semantics import convert, numpy_dtype
from relay_tune.typing.relations.creation import arange as arange_relation
from relay_tune.typing.relations.creation import filled_dynamic, shaped_by_value
from relay_tune.typing.relations.indexing import argwhere as argwhere_relation
from relay_tune.typing.relations.reshape_codes import reshaped
from relay_tune.typing.relations.sorting import topk_dynamic


@dataclass(frozen=True)
class DynamicFilledAttributes(Attributes):
    """Attributes of dyn.zeros, dyn.ones and dyn.full.

    Attributes:
        dtype: the element type of the result; empty: that of the first argument.
    """

    dtype: str = ""


@dataclass(frozen=True)
class DynamicArangeAttributes(Attributes):
    """Attributes of dyn.arange.

    Attributes:
        dtype: the element type of the result.
    """

    dtype: str = "float32"


@dataclass(frozen=True)
class DynamicReshapeAttributes(Attributes):
    """Attributes of dyn.reshape.

    Attributes:
        allowzero: whether 0 is a size instead of a copied one.
    """

    allowzero: bool = False


@dataclass(frozen=True)
class DynamicTopkAttributes(Attributes):
    """Attributes of dyn.topk; see those of topk.

    Attributes:
        axis: the axis along which elements are chosen.
        ret_type: "values", "indices", or "both" for a tuple of them.
        is_ascend: whether the least elements are kept instead of the greatest.
        dtype: the element type of the indices.
    """

    axis: int = -1
    ret_type: str = "both"
    is_ascend: bool = False
    dtype: str = "int32"


def _dynamic_operator(
    name: str,
    arguments: tuple[str, ...],
    relation: Relation,
    reference: Callable[..., Any],
    documentation: str,
    attributes: AttributesClass = Attributes,
    sizes: Callable[..., Any] | None = None,
    compute: Callable[..., Any] | None = None,
) -> Operator:
    return define(
        name=name,
        arguments=arguments,
        relation=relation,
        kind=FusionKind.OPAQUE,
        attributes=attributes,
        sizes=sizes,
        compute=compute,
        reference=reference,
        documentation=documentation,
    )


def _sizes(shape: Array) -> tuple[int, ...]:
    return tuple(int(size) for size in shape)


def _reshape(attributes: DynamicReshapeAttributes, data: Array, newshape: Array) -> Array:
    type_ = TensorType(data.shape, data.dtype.name)
    return data.reshape(
        [int(str(size)) for size in reshaped(type_, _sizes(newshape), attributes.allowzero)]
    )


def _broadcast_to(attributes: Attributes, data: Array, shape: Array) -> Array:
    return np.broadcast_to(data, _sizes(shape))


def _tile(attributes: Attributes, data: Array, reps: Array) -> Array:
    return np.tile(data, _sizes(reps))


def _strided_slice(
    attributes: Attributes, data: Array, begin: Array, end: Array, strides: Array
) -> Array:
    bounds = zip(_sizes(begin), _sizes(end), _sizes(strides), strict=True)
    return data[tuple(slice(*bound) for bound in bounds)]


def _full(attributes: DynamicFilledAttributes, value: Array, shape: Array) -> Array:
    dtype = attributes.dtype or value.dtype.name
    return np.broadcast_to(convert(np.asarray(value), dtype), _sizes(shape))


def _zeros(attributes: DynamicFilledAttributes, shape: Array) -> Array:
    return np.zeros(_sizes(shape), numpy_dtype(attributes.dtype or shape.dtype.name))


def _ones(attributes: DynamicFilledAttributes, shape: Array) -> Array:
    return np.ones(_sizes(shape), numpy_dtype(attributes.dtype or shape.dtype.name))


def _arange(attributes: DynamicArangeAttributes, start: Array, stop: Array, step: Array) -> Array:
    return convert(np.arange(start.item(), stop.item(), step.item()), attributes.dtype)


def _topk(attributes: DynamicTopkAttributes, data: Array, k: Array) -> Any:
    return topk_reference(attributes, data, int(k.reshape(()).item()))


def _argwhere(attributes: Attributes, condition: Array) -> Array:
    return np.argwhere(condition).astype(np.int32)


dyn_reshape = _dynamic_operator(
    "dyn.reshape",
    ("data", "newshape"),
    shaped_by_value,
    _reshape,
    "The same elements in a shape that is a vector of sizes and of the codes of reshape.",
    DynamicReshapeAttributes,
    sizes=sizes.reshape_sizes,
    compute=sizes.reshape_elements,
)
dyn_broadcast_to = _dynamic_operator(
    "dyn.broadcast_to",
    ("data", "shape"),
    shaped_by_value,
    _broadcast_to,
    "The data stretched to a shape that is a vector.",
    sizes=sizes.broadcast_sizes,
    compute=sizes.broadcast_elements,
)
dyn_tile = _dynamic_operator(
    "dyn.tile",
    ("data", "reps"),
    shaped_by_value,
    _tile,
    "Copies of the data side by side; reps is a vector with one number for each axis.",
    sizes=sizes.tile_sizes,
    compute=sizes.tile_elements,
)
dyn_strided_slice = _dynamic_operator(
    "dyn.strided_slice",
    ("data", "begin", "end", "strides"),
    shaped_by_value,
    _strided_slice,
    "data[begin:end:stride], where the three are vectors with one number for each axis.",
    sizes=sizes.slice_sizes,
    compute=sizes.slice_elements,
)
dyn_full = _dynamic_operator(
    "dyn.full",
    ("fill_value", "shape"),
    filled_dynamic,
    _full,
    "A tensor, of a shape that is a vector, with one scalar value everywhere.",
    DynamicFilledAttributes,
    sizes=sizes.sizes_from_shape,
    compute=sizes.filled(None),
)
dyn_zeros = _dynamic_operator(
    "dyn.zeros",
    ("shape",),
    filled_dynamic,
    _zeros,
    "Zeros in a shape that is a vector.",
    DynamicFilledAttributes,
    sizes=sizes.sizes_from_shape,
    compute=sizes.filled(0),
)
dyn_ones = _dynamic_operator(
    "dyn.ones",
    ("shape",),
    filled_dynamic,
    _ones,
    "Ones in a shape that is a vector.",
    DynamicFilledAttributes,
    sizes=sizes.sizes_from_shape,
    compute=sizes.filled(1),
)
dyn_arange = _dynamic_operator(
    "dyn.arange",
    ("start", "stop", "step"),
    arange_relation,
    _arange,
    "The numbers start, start + step, ... before stop, all three scalars.",
    DynamicArangeAttributes,
    sizes=sizes.arange_sizes,
    compute=sizes.arange_elements,
)
dyn_topk = _dynamic_operator(
    "dyn.topk",
    ("data", "k"),
    topk_dynamic,
    _topk,
    "The k greatest (or least) elements along an axis, where k is a scalar or of one element.",
    DynamicTopkAttributes,
    sizes=sizes.topk_sizes,
    compute=topk_elements,
)
argwhere = _dynamic_operator(
    "argwhere",
    ("condition",),
    argwhere_relation,
    _argwhere,
    "The positions of the elements that are not zero, one a row, int32.",
    sizes=sizes.argwhere_sizes,
    compute=sizes.argwhere_elements,
)
