"""How operators take part in kernels: the table that fusion asks."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Expr
from relay_tune.op.primitive_views import AGAIN, INDEX_CHECK
from relay_tune.op_rules.fusion import attention, derived, movement, pool
from relay_tune.op_rules.fusion.rule import FusionRule
from relay_tune.op_rules.table import OperatorTable


def _index_check(_: Call) -> Mapping[str, int]:
    return {INDEX_CHECK: 1}


def _again(_: Call) -> Mapping[str, int]:
    return {AGAIN: 1}


FUSION: OperatorTable[FusionRule] = OperatorTable(
    {
        "again": FusionRule(primitive_attributes=_again),
        "copy": FusionRule(is_alone=True),
        "check_indices": FusionRule(primitive_attributes=_index_check),
    },
    attention.RULES,
    derived.RULES,
    movement.RULES,
    pool.RULES,
)

_OTHERS = FusionRule()


def fusion_rule(node: Expr) -> FusionRule:
    """The rule of the operator that `node` calls; that of most operators where it has none."""
    return FUSION.rule_of(node) or _OTHERS
