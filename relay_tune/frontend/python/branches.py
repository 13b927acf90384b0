"""`if` and `match`.

if c:                       let %y = if (%c) { 1 } else { 2 };
    y = 1                   ...
else:
    y = 2
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from relay_tune.frontend.python.flow import Continuation, Exits, Flow, Lets, Steps, bound
from relay_tune.frontend.python.names import always_leaves, assigned_names, surely_assigned
from relay_tune.frontend.python.patterns import Patterns
from relay_tune.frontend.python.scope import NameScope
from relay_tune.ir.expr import Clause, Expr, If, Match
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Fork:
    """A statement with branches.

    Attributes:
        statement: the statement.
        branches: the statements of each branch with the scope that they begin with.
        assemble: makes the expression from those of the branches.
    """

    statement: ast.stmt
    branches: Sequence[tuple[Sequence[ast.stmt], NameScope]]
    assemble: Callable[[Sequence[Expr]], Expr]

    @property
    def assigned(self) -> tuple[str, ...]:
        """The names that some branch may assign."""
        return assigned_names([step for steps, _ in self.branches for step in steps])


class Branches(Flow, Patterns):
    """Translates statements with branches."""

    def fork(self, statement: ast.If | ast.Match, scope: NameScope) -> Fork:
        """The branches of a statement."""
        if isinstance(statement, ast.If):
            condition = self.expr(statement.test, scope)
            branches = [(statement.body, scope), (statement.orelse, scope)]
            return Fork(statement, branches, lambda parts: If(condition, parts[0], parts[1]))
        subject = self.expr(statement.subject, scope)
        patterns, cases = [], []
        for case in statement.cases:
            if case.guard is not None:
                raise self.source.error(
                    case.guard, "Cases have no guards.", remedy="Write an if inside of the case."
                )
            pattern, inner = self.pattern(case.pattern, scope)
            patterns.append(pattern)
            cases.append((case.body, inner))

        def assemble(parts: Sequence[Expr]) -> Expr:
            return Match(subject, tuple(map(Clause, patterns, parts)))

        return Fork(statement, cases, assemble)

    def join(self, fork: Fork, scope: NameScope, lets: Lets) -> NameScope:
        """A fork whose branches all reach their end: what they assigned are its results."""
        names = self._certain(fork, fork.branches, scope)

        def end(reached: NameScope) -> Expr:
            return self.results(names, reached, fork.statement)

        value = fork.assemble(
            [self.block(b, inner, Exits(end, True)) for b, inner in fork.branches]
        )
        scope = self._after(fork, names, scope)
        return self.take_results(names, self.located(value, fork.statement), scope, lets)

    def part(self, fork: Fork, scope: NameScope, rest: Steps, exits: Exits) -> Expr:
        """A fork some of whose branches leave the block: the others go on with `rest`."""

        def after(reached: NameScope) -> Expr:
            return self.block(rest, reached, exits)

        falling = [branch for branch in fork.branches if not always_leaves(branch[0])]
        lets: Lets = []
        go_on: Continuation = after
        is_short = exits.is_short and not rest
        if len(falling) > 1 and not is_short:
            names = self._certain(fork, falling, scope)
            inner = self._after(fork, names, scope)
            binding, go_on = self.joined_by_function(names, inner, after, fork.statement)
            lets, is_short = [binding], True
        inside = Exits(go_on, is_short, exits.break_, exits.continue_)
        value = fork.assemble([self.block(b, inner, inside) for b, inner in fork.branches])
        return bound(lets, self.located(value, fork.statement))

    def _certain(
        self, fork: Fork, branches: Sequence[tuple[Sequence[ast.stmt], NameScope]], scope: NameScope
    ) -> tuple[str, ...]:
        """The assigned names that have a value whichever of `branches` was taken."""
        sure = [surely_assigned(steps) for steps, _ in branches]
        return tuple(
            name for name in fork.assigned if scope.has(name) or all(name in s for s in sure)
        )

    def _after(self, fork: Fork, names: Sequence[str], scope: NameScope) -> NameScope:
        lost = [name for name in fork.assigned if name not in names]
        line = self.source.span(fork.statement).line
        return self.forget(lost, scope, f"not every branch at line {line} assigns it")
