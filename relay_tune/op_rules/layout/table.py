"""The layouts of operators: the table that the choice of layouts asks."""

from __future__ import annotations

from relay_tune.op_rules.layout import (
    again,
    along_axis,
    indexing,
    joining,
    layout_attribute,
    reduction,
    shape,
    slicing,
)
from relay_tune.op_rules.layout.nn import matmul, pad
from relay_tune.op_rules.layout.rule import LayoutRule
from relay_tune.op_rules.table import OperatorTable

LAYOUT: OperatorTable[LayoutRule] = OperatorTable(
    again.RULES,
    along_axis.RULES,
    indexing.RULES,
    joining.RULES,
    layout_attribute.RULES,
    matmul.RULES,
    pad.RULES,
    reduction.RULES,
    shape.RULES,
    slicing.RULES,
)
