"""How affine types pass operators: the tables that the pass to integers asks."""

from __future__ import annotations

from relay_tune.op_rules.quantize import arithmetic, conversions, moving, pool, products, reduction
from relay_tune.op_rules.quantize.rule import AffineRule, StoreRule
from relay_tune.op_rules.table import OperatorTable

AFFINE: OperatorTable[AffineRule] = OperatorTable(
    arithmetic.RULES,
    conversions.RULES,
    moving.RULES,
    pool.RULES,
    products.RULES,
    reduction.RULES,
)
"""Calls on float32 whose results can be stored as integers."""

SOURCES: OperatorTable[AffineRule] = OperatorTable(conversions.RULES)
"""Those of these that read integers: without one of them nothing is stored as integers."""

STORES: OperatorTable[StoreRule] = OperatorTable(conversions.STORES)
"""Calls that store numbers as integers."""
