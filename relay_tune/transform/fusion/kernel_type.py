"""The types of kernels."""

from __future__ import annotations

from collections.abc import Collection

from relay_tune.ir.expr import Expr
from relay_tune.ir.types import FuncType, Type


def kernel_type(arguments: Collection[Expr], result: Expr) -> Type | None:
    """The type of a kernel of these arguments; None where one of the types is not known."""
    types = tuple(each.type for each in arguments if each.type is not None)
    if len(types) != len(arguments) or result.type is None:
        return None
    return FuncType(types, result.type)
