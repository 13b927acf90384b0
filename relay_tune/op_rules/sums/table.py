"""Which terms of a sum are one term together: the tables that the pass `join_sums` asks."""

from __future__ import annotations

from relay_tune.op_rules.sums import columns, moved, products
from relay_tune.op_rules.sums.rule import TermRule
from relay_tune.op_rules.table import OperatorTable

MOVED: OperatorTable[TermRule] = OperatorTable(moved.RULES)
PRODUCTS: OperatorTable[TermRule] = OperatorTable(products.RULES)
COLUMNS: OperatorTable[TermRule] = OperatorTable(columns.RULES)

ROUNDS = (MOVED, PRODUCTS, COLUMNS)
"""Tables in order: where terms of a product may stand in any order, they take that of parts that
have theirs, so that both read one concatenation."""
