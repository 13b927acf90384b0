"""How operators are differentiated: the table that the passes of derivatives ask."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import BuildError
from relay_tune.ir.operator import Operator
from relay_tune.op_rules.gradient import arithmetic
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule
from relay_tune.op_rules.table import OperatorTable

GRADIENT: OperatorTable[GradientRule] = OperatorTable(
    arithmetic.RULES,
)
"""Operators whose adjoints are written by hand, that are constant, or that have no derivative."""


def adjoints_of(known: Differentiated) -> Sequence[Adjoint]:
    """The adjoints of a call's arguments; BuildError where the operator has no derivative."""
    operator = known.call.callee
    assert isinstance(operator, Operator)
    rule = GRADIENT.rule_of(known.call)
    if rule is None:
        raise BuildError(
            f"The operator {operator.name} has no rule for its derivative.",
            where=known.call.span,
            remedy="Add a rule to relay_tune.op_rules.gradient.table.GRADIENT.",
        )
    if rule.refused:
        raise BuildError(
            f"The operator {operator.name} has no derivative: {rule.refused}.",
            where=known.call.span,
            remedy="Differentiate with regard to what does not pass it, or use stop_gradient.",
        )
    if rule.adjoints is None:
        return (None,) * len(known.call.arguments)
    return rule.adjoints(known)
