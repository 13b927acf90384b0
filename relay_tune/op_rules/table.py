"""A table of what one concern knows of operators: a rule for each.

    PADDING = OperatorTable({"nn.conv2d": convolution_padding})      rules of the compiler
    PADDING.add(convolution_padding, "mine.conv2d")                  and of an operator from outside

A pass asks for the rule of a call and never for its operator's name; what has no rule is treated
like any other operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import relay_tune.op  # noqa: F401  # registers the operators that rules name
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import Operator, find_operator

Rule = TypeVar("Rule")


class OperatorTable(Generic[Rule]):
    """The rules of one concern by operator.

    Two rules of one operator are made one by `combine`; without it the second is refused.
    """

    def __init__(
        self,
        *tables: Mapping[str, Rule],
        combine: Callable[[Rule, Rule], Rule] | None = None,
    ) -> None:
        """The table of the rules of all `tables`."""
        self._rules: dict[str, Rule] = {}
        self._combine = combine
        for table in tables:
            for name, rule in table.items():
                self.add(rule, name)

    def add(self, rule: Rule, *operators: Operator | str) -> None:
        """Enter the rule of some operators, by record or by name.

        Raises InputError where an operator is not registered, or has a rule that is to be the only
        one.
        """
        for operator in operators:
            name = operator.name if isinstance(operator, Operator) else operator
            if find_operator(name) is None:
                raise InputError(
                    f"A rule is given for the operator {name}, which is not registered.",
                    remedy="Register the operator first (relay_tune.ir.operator.register).",
                )
            known = self._rules.get(name)
            if known is None:
                self._rules[name] = rule
            elif self._combine is not None:
                self._rules[name] = self._combine(known, rule)
            else:
                raise InputError(
                    f"The operator {name} has a rule in this table already.",
                    remedy="Give the operator one rule.",
                )

    def rule_of(self, node: Expr) -> Rule | None:
        """The rule of the operator that `node` calls; None if it has none, or calls no operator."""
        if not isinstance(node, Call) or not isinstance(node.callee, Operator):
            return None
        return self._rules.get(node.callee.name)

    def rules(self) -> tuple[Rule, ...]:
        """The rules of all operators."""
        return tuple(self._rules.values())

    def operators(self) -> tuple[str, ...]:
        """The names of the operators that have a rule, sorted."""
        return tuple(sorted(self._rules))
