"""The table of rules of adjoints, and adjoints and tangents of any call."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import Operator
from relay_tune.op_rules.gradient import (
    arithmetic,
    cast,
    indexing,
    joining,
    math,
    reduction,
    scan,
    scatter,
    selection,
    shape,
    slicing,
)
from relay_tune.op_rules.gradient.decisions import with_decisions
from relay_tune.op_rules.gradient.derived import (
    composed_adjoints,
    composed_tangent,
    derived_adjoints,
    derived_tangent,
    is_composed,
)
from relay_tune.op_rules.gradient.nn import activation, convolution, loss, matmul, normalization
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule
from relay_tune.op_rules.gradient.transposed import transposed_tangent
from relay_tune.op_rules.table import OperatorTable

GRADIENT: OperatorTable[GradientRule] = OperatorTable(
    {
        "decisive": GradientRule(lambda known: (known.adjoint,)),
        "again": GradientRule(lambda known: (known.adjoint, None)),
        "stop_gradient": GradientRule(
            constant="the program says that it is to be taken for constant"
        ),
    },
    activation.RULES,
    arithmetic.RULES,
    cast.RULES,
    convolution.RULES,
    indexing.RULES,
    joining.RULES,
    loss.RULES,
    math.RULES,
    matmul.RULES,
    normalization.RULES,
    reduction.RULES,
    scan.RULES,
    scatter.RULES,
    selection.RULES,
    shape.RULES,
    slicing.RULES,
)
"""Operators whose adjoints are written by hand, that are constant, or that have no derivative."""


def adjoints_of(known: Differentiated) -> Sequence[Adjoint]:
    """The adjoints of a call's arguments; BuildError where the operator has no derivative."""
    rule = GRADIENT.rule_of(known.call)
    if rule is not None and rule.refused:
        raise _refusal(known.call, rule)
    if rule is not None and rule.constant:
        return (None,) * len(known.call.arguments)
    written = None if rule is None or rule.adjoints is None else rule.adjoints(known)
    if written is not None:
        return with_decisions(known, written)
    if is_composed(known.call):
        return composed_adjoints(known, adjoints_of)
    return derived_adjoints(known)


def tangents_of(call: Call, result: Expr, tangents: Sequence[Adjoint]) -> Adjoint:
    """The change of a call's result for changes of its arguments; None is zero.

    `result` is the value of the call, to be used instead of computing it again. BuildError where
    the operator has no derivative.
    """
    rule = GRADIENT.rule_of(call)
    if rule is not None and rule.refused:
        raise _refusal(call, rule)
    if rule is not None and rule.constant:
        return None
    if rule is not None and rule.adjoints is not None:
        return transposed_tangent(call, result, tangents, adjoints_of)
    if is_composed(call):
        return composed_tangent(call, tangents, tangents_of)
    return derived_tangent(call, tangents)


def _refusal(call: Call, rule: GradientRule) -> BuildError:
    assert isinstance(call.callee, Operator)
    return BuildError(
        f"The operator {call.callee.name} has no derivative: {rule.refused}.",
        where=call.span,
        remedy="Differentiate with regard to what does not pass it, or use stop_gradient.",
    )
