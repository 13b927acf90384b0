"""qnn.observe: a tensor whose range a quantizer wants to know."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.expr import Attributes, Expr
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import Type
from relay_tune.op.elements import Array
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.relations.elementwise import identity


@dataclass(frozen=True)
class ObserveAttributes(Attributes):
    """Attributes of qnn.observe.

    Attributes:
        tensor: its name; tensors of one name share a scale and a zero point.
        dtype: the integer type that is to store it.
        axis: the axis with a scale for each index; None where all elements have one.
        factors: names of tensors whose scales multiplied are the scale of this one.
    """

    tensor: str = ""
    dtype: str = "int8"
    axis: int | None = None
    factors: tuple[str, ...] = ()


def _itself(
    attributes: ObserveAttributes, arguments: Sequence[Expr], types: Sequence[Type]
) -> Expr:
    return arguments[0]


def _reference(attributes: ObserveAttributes, data: Array) -> Array:
    return data.copy()


observe = define(
    name="qnn.observe",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    attributes=ObserveAttributes,
    composition=_itself,
    reference=_reference,
    documentation="The data; an annotation that they are to be stored as integers.",
)
