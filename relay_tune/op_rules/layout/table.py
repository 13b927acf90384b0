"""The layouts of operators: the table that the choice of layouts asks."""

from __future__ import annotations

from relay_tune.op_rules.layout import again, followers, matmul, reduction, shape
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.table import OperatorTable

LAYOUT: OperatorTable[LayoutRule] = OperatorTable(
    again.RULES, followers.RULES, matmul.RULES, reduction.RULES, shape.RULES
)
