"""Sums down to a shape: the inverse of broadcasting, as gradients need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, integer_shape
from relay_tune.op.reduction_axes import Reduction, finished, reduced, wide_array
from relay_tune.op.reshape_index import reshaped_tensor
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.relations.shape import collapse_sum_like as collapse_sum_like_relation
from relay_tune.typing.relations.shape import collapse_sum_to as collapse_sum_to_relation


@dataclass(frozen=True)
class CollapseAttributes(Attributes):
    """Attributes of collapse_sum_to.

    Attributes:
        shape: the shape of the result, which broadcasts to that of the data.
    """

    shape: tuple[int, ...]


def stretched_axes(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """The axes of `shape` along which a tensor of shape `target` is repeated by broadcasting."""
    extra = len(shape) - len(target)
    return tuple(
        axis
        for axis, size in enumerate(shape)
        if axis < extra or (target[axis - extra] == 1 and size != 1)
    )


def _collapse(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    data, target = inputs[0], integer_shape(types[0])
    axes = stretched_axes(data.shape, target)
    kept = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
    total = reduced("collapse_sum", _Shape(tuple(kept)), Reduction(data, axes), "sum")
    narrow = finished("collapse", total, data.dtype)
    return [reshaped_tensor("collapse", narrow, target)]


@dataclass(frozen=True)
class _Shape:
    shape: tuple[int, ...]


def _collapsed(data: Array, target: Sequence[int]) -> Array:
    axes = stretched_axes(data.shape, target)
    wide = wide_array(data)
    total = np.sum(wide, axis=axes, dtype=wide.dtype)
    return np.asarray(total).reshape(target).astype(data.dtype)


def _collapse_to_reference(attributes: CollapseAttributes, data: Array) -> Array:
    return _collapsed(data, attributes.shape)


def _collapse_like_reference(attributes: Attributes, data: Array, like: Array) -> Array:
    return _collapsed(data, like.shape)


collapse_sum_to = define(
    name="collapse_sum_to",
    arguments=("data",),
    relation=collapse_sum_to_relation,
    kind=FusionKind.REDUCTION,
    attributes=CollapseAttributes,
    compute=_collapse,
    reference=_collapse_to_reference,
    documentation="The data summed over the axes along which `shape` would broadcast to it.",
)
collapse_sum_like = define(
    name="collapse_sum_like",
    arguments=("data", "collapse_type"),
    relation=collapse_sum_like_relation,
    kind=FusionKind.REDUCTION,
    compute=_collapse,
    reference=_collapse_like_reference,
    documentation="The data summed down to the shape of the second argument.",
)
