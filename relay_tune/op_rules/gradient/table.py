"""How operators are differentiated: the table that the passes of derivatives ask."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import BuildError
from relay_tune.ir.operator import Operator
from relay_tune.op_rules.gradient import (
    arithmetic,
    cast,
    derivative,
    indexing,
    joining,
    math,
    reduction,
    scan,
    scatter,
    selection,
    shape,
    slicing,
    sorting,
)
from relay_tune.op_rules.gradient.derived import composed_adjoints, derived_adjoints, is_composed
from relay_tune.op_rules.gradient.nn import (
    activation,
    bias,
    convolution,
    loss,
    matmul,
    normalization,
    pad,
    pool,
    softmax,
)
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule
from relay_tune.op_rules.table import OperatorTable

GRADIENT: OperatorTable[GradientRule] = OperatorTable(
    activation.RULES,
    arithmetic.RULES,
    bias.RULES,
    cast.RULES,
    convolution.RULES,
    derivative.RULES,
    indexing.RULES,
    joining.RULES,
    loss.RULES,
    math.RULES,
    matmul.RULES,
    normalization.RULES,
    pad.RULES,
    pool.RULES,
    reduction.RULES,
    scan.RULES,
    scatter.RULES,
    selection.RULES,
    shape.RULES,
    slicing.RULES,
    softmax.RULES,
    sorting.RULES,
)
"""Operators whose adjoints are written by hand, that are constant, or that have no derivative."""


def adjoints_of(known: Differentiated) -> Sequence[Adjoint]:
    """The adjoints of a call's arguments; BuildError where the operator has no derivative."""
    operator = known.call.callee
    assert isinstance(operator, Operator)
    rule = GRADIENT.rule_of(known.call)
    if rule is not None and rule.refused:
        raise BuildError(
            f"The operator {operator.name} has no derivative: {rule.refused}.",
            where=known.call.span,
            remedy="Differentiate with regard to what does not pass it, or use stop_gradient.",
        )
    if rule is not None and rule.constant:
        return (None,) * len(known.call.arguments)
    written = None if rule is None or rule.adjoints is None else rule.adjoints(known)
    if written is not None:
        return written
    if is_composed(known.call):
        return composed_adjoints(known, adjoints_of)
    return derived_adjoints(known)
