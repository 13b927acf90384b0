"""Algebraic data types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relay_tune.ir.expr import Constructor
from relay_tune.ir.types import GlobalTypeVar, Type, TypeVar
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class TypeData:
    """The definition of an algebraic data type; `extern` ones have no constructors."""

    header: GlobalTypeVar
    type_params: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]
    extern: bool = False

    def with_fields(self, changed: Callable[[Type], Type]) -> TypeData:
        """The same data type with other types of the fields of its constructors."""
        constructors = (
            replace(each, inputs=tuple(map(changed, each.inputs))) for each in self.constructors
        )
        return replace(self, constructors=tuple(constructors))
