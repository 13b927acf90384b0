"""Algebraic data types."""

from __future__ import annotations

from relay_tune.ir.expr import Constructor
from relay_tune.ir.types import GlobalTypeVar, TypeVar
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class TypeData:
    """The definition of an algebraic data type; `extern` ones have no constructors."""

    header: GlobalTypeVar
    type_params: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]
    extern: bool = False
