"""Rewrite calls into cheaper ones that mean the same.

before: reshape(transpose(transpose(%x, axes=[1, 0]), axes=[1, 0]) * 1f, newshape=[6])
after:  reshape(%x, newshape=[6])

The rewrites are in `relay_tune.op_rules.simplify`, one small function each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay_tune.ir.expr import Call, Expr, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.op_rules.simplify.table import SIMPLIFY
from relay_tune.op_rules.typed import resolved_item
from relay_tune.transform.module_pass import rewrite_calls

MAXIMUM_REWRITES = 64
"""How many rules may apply to one call after each other."""


@dataclass(frozen=True)
class SimplifyExpression:
    """Applies the rules at every call until none applies; `without` leaves some rules out."""

    name: ClassVar[str] = "simplify_expression"
    without: frozenset[str] = frozenset()

    def __call__(self, module: Module) -> Module:
        """The module with simpler calls."""
        return rewrite_calls(module, self._visit)

    def _visit(self, node: Expr) -> Expr:
        if isinstance(node, TupleGetItem):
            return resolved_item(node)
        for _ in range(MAXIMUM_REWRITES):
            simpler = self._step(node)
            if simpler is None:
                return node
            node = simpler
        return node

    def _step(self, node: Expr) -> Expr | None:
        if not isinstance(node, Call) or node.type is None:
            return None
        for rule in SIMPLIFY.rule_of(node) or ():
            if rule.__name__ in self.without:
                continue
            simpler = rule(node)
            if simpler is not None:
                return simpler
        return None
