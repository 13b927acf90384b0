"""Values of expressions: arrays, tuples, closures, cells, data types."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

import numpy as np

from relay_tune.ir.expr import Constructor, Expr, Function
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TupleType, Type
from relay_tune.quick_dataclass import dataclass


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function: its variables, and what was computed in it.

    `parent` is the activation in which the function was written, None for global functions.
    """

    values: dict[Expr, Value] = field(default_factory=dict)
    parent: Frame | None = None

    def lookup(self, node: Expr) -> Value | None:
        """The value of a node in this or in an enclosing activation, None if unknown."""
        frame: Frame | None = self
        while frame is not None:
            if node in frame.values:
                return frame.values[node]
            frame = frame.parent
        return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closure:
    """A function with the activation that its free variables belong to."""

    function: Function
    frame: Frame | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConstructorValue:
    """A value of an algebraic data type."""

    constructor: Constructor
    fields: tuple[Value, ...]

    def __repr__(self) -> str:
        return f"<{self.constructor.name} of {len(self.fields)} field(s)>"


@dataclass(slots=True, eq=False, repr=False)
class ReferenceCell:
    """A mutable cell."""

    value: Value


Value: TypeAlias = (
    np.ndarray
    | tuple["Value", ...]
    | Closure
    | ConstructorValue
    | ReferenceCell
    | Operator
    | Constructor
)


def value_of_nothing(type_: Type) -> Value:
    """The only value of a type without components, such as `((), ())`."""
    if not isinstance(type_, TupleType):
        return ()
    return tuple(value_of_nothing(field) for field in type_.fields)
