"""An if or a match whose branches were swept."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.expr import Expr, If, Match, Pattern, Var
from relay_tune.ir.traversal import free_vars, pattern_vars
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.swept import Swept
from relay_tune.transform.gradient.typed_nodes import matched


@dataclass
class Arm:
    """A branch, or a clause with its pattern."""

    pattern: Pattern | None
    swept: Swept

    @property
    def pattern_variables(self) -> set[Var]:
        """The variables that the pattern binds."""
        return set() if self.pattern is None else set(pattern_vars(self.pattern))

    def saved(self, code: Expr) -> list[Var]:
        """The variables that the arm binds and its backward code uses."""
        bound = {var for var, _ in self.swept.bindings} | self.pattern_variables
        return [var for var in free_vars(code) if var in bound]


@dataclass
class Choice:
    """An if or a match, its arms swept, and the variables whose adjoints they return."""

    node: If | Match
    arms: tuple[Arm, ...]
    returned: tuple[Var, ...]

    def rebuilt(self, bodies: Sequence[Expr]) -> Expr:
        """It, with other branches."""
        return self.chosen(
            [(arm.pattern, body) for arm, body in zip(self.arms, bodies, strict=True)]
        )

    def chosen(self, arms: Sequence[tuple[Pattern | None, Expr]]) -> Expr:
        """The same choice between other branches, or clauses."""
        node, type_ = self.node, arms[0][1].type
        if isinstance(node, If):
            return If(node.condition, arms[0][1], arms[1][1], type=type_)
        clauses = [(pattern, body) for pattern, body in arms if pattern is not None]
        return matched(node.value, clauses, node.complete)

    def titles(self) -> list[str]:
        """The names of the arms."""
        if isinstance(self.node, If):
            return ["true", "false"]
        names = []
        for arm in self.arms:
            constructor = getattr(arm.pattern, "constructor", None)
            names.append("case" if constructor is None else constructor.name)
        return names
