"""Which calls mean the same as cheaper ones: the table that simplification asks."""

from __future__ import annotations

import operator

from relay_tune.op_rules.simplify import (
    arg_reduction,
    arithmetic,
    indexing,
    joining,
    nested,
    shape,
    slicing,
)
from relay_tune.op_rules.simplify.nn import lookups, matmul, scaled
from relay_tune.op_rules.simplify.rule import Rules
from relay_tune.op_rules.table import OperatorTable

SIMPLIFY: OperatorTable[Rules] = OperatorTable(
    arg_reduction.RULES,
    arithmetic.RULES,
    nested.RULES,
    indexing.RULES,
    joining.RULES,
    lookups.RULES,
    matmul.RULES,
    scaled.RULES,
    shape.RULES,
    slicing.RULES,
    combine=operator.add,
)
"""The rules of each operator, tried in order; rules that are added are tried after them."""

RELAXED = frozenset({"row_of_argument"})
"""Rules by name that the level `relaxed` alone has: an infinity or NaN may reach fewer results."""

NOT_EXACT = frozenset({"of_increasing"})
"""Rules that the level `exact` has not: what rounds to one number is told apart."""
