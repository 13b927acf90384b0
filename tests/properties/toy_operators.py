"""Operators that exist for tests only, so that the tests of the language need no real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, Operator, RelationContext, register
from relay_tune.ir.types import Type


@dataclass(frozen=True)
class ToyAttributes(Attributes):
    axis: int = -1
    epsilon: float = 1e-5
    pads: tuple[int, ...] = ()
    name: str | None = None
    keep: bool = False
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    nested: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class RequiredAttributes(Attributes):
    axis: int
    size: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        if self.axis < 0:
            raise ValueError("axis must not be negative")


def _first_type(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type:
    return inputs[0]


def _toy(name: str, *arguments: str, attributes: type[Attributes] = Attributes) -> Operator:
    return Operator(
        name,
        arguments,
        relation=_first_type,
        kind=FusionKind.OPAQUE,
        reference=lambda attributes, *arrays: arrays[0],
        attributes=attributes,
    )


ADD = register(_toy("test.add", "left", "right"))
NEGATE = register(_toy("test.negate", "data"))
POOL = register(_toy("test.pool", "data", attributes=ToyAttributes))
SLICE = register(_toy("test.slice", "data", attributes=RequiredAttributes))
ODD_NAME = register(_toy("test.odd name:0", "data"))

INFIX = {
    name: _toy(name, "left", "right")
    for name in (
        "add subtract multiply divide less less_equal greater greater_equal equal not_equal "
        "negative"
    ).split()
}
"""Toys under the names that infix symbols stand for; not registered."""
