"""The known type of an expression, before and after inference."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.types import Type


def known_type(node: Expr) -> Type | None:
    """The inferred type; without one, the annotation of a variable; else None."""
    if node.type is None and isinstance(node, Var):
        return node.annotation
    return node.type
