"""Adjoints of conversions between element types."""

from __future__ import annotations

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import is_float, tensor_type
from relay_tune.op_rules.typed import call


def converted(value: Expr, like: Expr) -> Adjoint:
    """An adjoint in the element type of `like`, None where that is no float."""
    given, wanted = tensor_type(value), tensor_type(like)
    if given is None or wanted is None or not is_float(like):
        return None
    return value if given.dtype == wanted.dtype else call("cast", value, dtype=wanted.dtype)


def _cast(known: Differentiated) -> tuple[Adjoint]:
    return (converted(known.tensor, known.call.arguments[0]),)


def _cast_like(known: Differentiated) -> tuple[Adjoint, None]:
    return converted(known.tensor, known.call.arguments[0]), None


RULES: GradientRules = {
    "cast": GradientRule(_cast),
    "cast_like": GradientRule(_cast_like),
    "reinterpret": GradientRule(refused="it reads the bits of its argument as another type"),
}
