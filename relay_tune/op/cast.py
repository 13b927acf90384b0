"""Changes of the element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Attributes, Expr
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.elements import Array, elementwise, integer_shape
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import cast as cast_scalar
from relay_tune.tensor.expression import reinterpret as reinterpret_scalar
from relay_tune.tensor.scalar_semantics import convert, reinterpret_bits
from relay_tune.typing.relations.elementwise import cast as cast_relation
from relay_tune.typing.relations.elementwise import cast_like as cast_like_relation
from relay_tune.typing.relations.elementwise import reinterpret as reinterpret_relation


@dataclass(frozen=True)
class CastAttributes(Attributes):
    """Attributes of a change of element type.

    Attributes:
        dtype: the element type of the result.
    """

    dtype: str


def _cast(attributes: CastAttributes, inputs: Any, types: Any) -> list[Any]:
    shape = integer_shape(types[0])
    return [elementwise("cast", shape, inputs, lambda x: cast_scalar(x, attributes.dtype))]


def _cast_like(attributes: Attributes, arguments: Sequence[Expr], types: Sequence[Type]) -> Expr:
    like = types[1]
    assert isinstance(like, TensorType)  # its relation takes tensors
    return cast(arguments[0], dtype=like.dtype)


def _cast_reference(attributes: CastAttributes, data: Array) -> Array:
    return convert(data, attributes.dtype)


def _cast_like_reference(attributes: Attributes, data: Array, like: Array) -> Array:
    return convert(data, like.dtype.name)


def _reinterpret(attributes: CastAttributes, inputs: Any, types: Any) -> list[Any]:
    dtype = attributes.dtype
    shape = integer_shape(types[0])
    return [elementwise("reinterpret", shape, inputs, lambda x: reinterpret_scalar(x, dtype))]


def _reinterpret_reference(attributes: CastAttributes, data: Array) -> Array:
    return reinterpret_bits(data, attributes.dtype)


cast = define(
    name="cast",
    arguments=("data",),
    relation=cast_relation,
    kind=FusionKind.ELEMENTWISE,
    attributes=CastAttributes,
    compute=_cast,
    reference=_cast_reference,
    documentation=(
        "The elements converted to another type: floats to integers are rounded towards "
        "zero, anything to bool is whether it is not zero."
    ),
)
cast_like = define(
    name="cast_like",
    arguments=("data", "dtype_like"),
    relation=cast_like_relation,
    kind=FusionKind.ELEMENTWISE,
    composition=_cast_like,
    reference=_cast_like_reference,
    documentation="The elements of data converted to the element type of dtype_like.",
)
reinterpret = define(
    name="reinterpret",
    arguments=("data",),
    relation=reinterpret_relation,
    kind=FusionKind.ELEMENTWISE,
    attributes=CastAttributes,
    compute=_reinterpret,
    reference=_reinterpret_reference,
    documentation="The same bits read as elements of another type of the same width.",
)
