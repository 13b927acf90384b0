"""Rewrite calls into cheaper ones that mean the same.

before: reshape(transpose(transpose(%x, axes=[1, 0]), axes=[1, 0]) * 1f, newshape=[6])
after:  reshape(%x, newshape=[6])

The rewrites are in `relay_tune.op_rules.simplify`, one small function each.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from relay_tune.arguments import did_you_mean
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.op_rules.simplify.table import NOT_EXACT, RELAXED, SIMPLIFY
from relay_tune.op_rules.typed import resolved_item
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.module_pass import rewrite_calls

MAXIMUM_REWRITES = 64
"""How many rules may apply to one call after each other."""


@dataclass(frozen=True)
class SimplifyExpression:
    """Applies the rules at every call until none applies.

    Fields:
        accuracy: rules that only less exact levels have are left out.
        without: more rules that are left out, by name.
    """

    name: ClassVar[str] = "simplify_expression"
    accuracy: Accuracy = Accuracy.FAST
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        known = {rule.__name__ for rules in SIMPLIFY.rules() for rule in rules}
        for name in sorted(self.without - known):
            raise InputError(
                f"There is no rule {name!r} of simplification to leave out.",
                remedy=did_you_mean(name, known, f"There are: {', '.join(sorted(known))}."),
            )

    def __call__(self, module: Module) -> Module:
        """The module with simpler calls."""
        return rewrite_calls(module, self._visit)

    @cached_property
    def _omitted(self) -> frozenset[str]:
        return self.without | _left_out(self.accuracy)

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
            if rule.__name__ in self._omitted:
                continue
            simpler = rule(node)
            if simpler is not None:
                return simpler
        return None


def _left_out(accuracy: Accuracy) -> frozenset[str]:
    """The rules by name that a level of accuracy has not."""
    match accuracy:
        case Accuracy.RELAXED:
            return frozenset()
        case Accuracy.FAST:
            return RELAXED
        case Accuracy.EXACT:
            return RELAXED | NOT_EXACT
