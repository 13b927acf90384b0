"""Choice between values: where, clip."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, elementwise, integer_shape, number
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Number, Scalar, binary, cast, select
from relay_tune.tensor.scalar_semantics import is_float, numpy_dtype
from relay_tune.typing.relations.elementwise import identity
from relay_tune.typing.relations.elementwise import select as select_relation


@dataclass(frozen=True)
class ClipAttributes(Attributes):
    """Attributes of clip.

    Attributes:
        a_min: the least value of the result.
        a_max: the greatest value of the result.
    """

    a_min: float
    a_max: float


def clip_bounds(attributes: Any, dtype: str) -> tuple[Number, Number]:
    """The bounds as numbers of an element type; for integers the integers between them."""
    low, high = float(attributes.a_min), float(attributes.a_max)
    if is_float(dtype):
        return low, high
    limits = np.iinfo(numpy_dtype(dtype))
    return _within(low, limits, math.ceil), _within(high, limits, math.floor)


def _within(bound: float, limits: Any, rounded: Callable[[float], int]) -> int:
    """A bound as an integer of a type with these limits."""
    if bound <= limits.min:
        return int(limits.min)
    return int(limits.max) if bound >= limits.max else rounded(bound)


def _where(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    return [
        elementwise(
            "where",
            integer_shape(types[0]),
            inputs,
            lambda condition, x, y: select(cast(condition, "bool"), x, y),
        )
    ]


def _where_reference(attributes: Attributes, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition != 0, x, y)


def _clip(attributes: Any, inputs: Any, types: Any) -> list[Any]:
    low, high = clip_bounds(attributes, types[0].dtype)

    def element(value: Scalar) -> Scalar:
        at_least = binary("max", value, number(low, value.dtype))
        return binary("min", at_least, number(high, value.dtype))

    return [elementwise("clip", integer_shape(types[0]), inputs, element)]


def _clip_reference(attributes: ClipAttributes, data: Array) -> Array:
    low, high = (data.dtype.type(bound) for bound in clip_bounds(attributes, data.dtype.name))
    return np.asarray(np.minimum(np.maximum(data, low), high))


where = define(
    name="where",
    arguments=("condition", "x", "y"),
    relation=select_relation,
    kind=FusionKind.BROADCAST,
    compute=_where,
    reference=_where_reference,
    documentation="x where the condition is true (not zero), else y; all three broadcast.",
)
clip = define(
    name="clip",
    arguments=("a",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    attributes=ClipAttributes,
    compute=_clip,
    reference=_clip_reference,
    documentation="The elements forced into [a_min, a_max]; NaN stays NaN.",
)
