"""Control flow as continuations: where a block goes on, and how values pass between blocks.

A block of statements becomes one expression: the value of the function from there on. Where
control comes together, the names that were assigned become the results of an expression or the
parameters of a local function, so every variable is assigned once.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

from relay_tune.frontend.python.expressions import Expressions
from relay_tune.frontend.python.scope import Meaning, Missing, NameScope, Static
from relay_tune.ir.expr import Call, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay_tune.quick_dataclass import dataclass

Continuation: TypeAlias = Callable[[NameScope], Expr]
"""Continuation: the rest of a program, given the meanings of the names by then."""

Lets: TypeAlias = list[tuple[Var, Expr]]
"""The variables that a block has bound so far."""


@dataclass(frozen=True, slots=True)
class ItemBinding:
    """An assignment that stands in no text: an item of a loop that is written out."""

    target: ast.expr
    meaning: Meaning


Steps: TypeAlias = Sequence[ast.stmt | ItemBinding]


@dataclass(frozen=True, slots=True)
class Exits:
    """Where a block goes on.

    Attributes:
        end: after its last statement.
        is_short: whether `end` gives a small expression, which may be repeated.
        break_, continue_: at these statements, inside of loops.
    """

    end: Continuation
    is_short: bool = False
    break_: Continuation | None = None
    continue_: Continuation | None = None


def bound(lets: Lets, body: Expr) -> Expr:
    """`body` with variables bound around it."""
    for var, value in reversed(lets):
        body = Let(var, value, body, span=value.span)
    return body


class Flow(Expressions):
    """Base of branches and loops."""

    @abstractmethod
    def block(self, steps: Steps, scope: NameScope, exits: Exits) -> Expr:
        """The value of the function from a block of statements on."""

    def results(self, names: Sequence[str], scope: NameScope, node: ast.AST) -> Expr:
        """The values of names as one expression."""
        values = self.values_of(names, scope, node)
        return values[0] if len(values) == 1 else self.located(Tuple(tuple(values)), node)

    def values_of(self, names: Sequence[str], scope: NameScope, node: ast.AST) -> list[Expr]:
        """The values of names that have one."""
        meanings = [scope.find(name) for name in names]
        return [self.lift(m, node) for m in meanings if isinstance(m, Expr | Static)]

    def take_results(
        self, names: Sequence[str], value: Expr, scope: NameScope, lets: Lets
    ) -> NameScope:
        """Give names the parts of what `results` made."""
        if len(names) == 1:
            var = Var(names[0], scope.declared.get(names[0]), span=value.span)
            lets.append((var, value))
            return scope.bind(names[0], var)
        whole = Var("results" if names else "_", span=value.span)
        lets.append((whole, value))
        for index, name in enumerate(names):
            scope = scope.bind(name, TupleGetItem(whole, index, span=value.span))
        return scope

    def as_parameters(
        self, names: Sequence[str], scope: NameScope
    ) -> tuple[tuple[Var, ...], NameScope]:
        """Fresh parameters for names, and the scope in which the names mean them."""
        params = tuple(Var(name, scope.declared.get(name)) for name in names)
        for param in params:
            scope = scope.bind(param.name, param)
        return params, scope

    def joined_by_function(
        self, names: Sequence[str], scope: NameScope, after: Continuation, node: ast.AST
    ) -> tuple[tuple[Var, Expr], Continuation]:
        """Make the continuation a local function of names: its binding, and calls of it."""
        params, inner = self.as_parameters(names, scope)
        join = Var("join", span=self.source.span(node))
        function = self.located(Function(params, after(inner)), node)

        def go_on(reached: NameScope) -> Expr:
            return self.located(Call(join, tuple(self.values_of(names, reached, node))), node)

        return (join, function), go_on

    def forget(self, names: Sequence[str], scope: NameScope, reason: str) -> NameScope:
        """The scope in which names have no certain value."""
        for name in names:
            scope = scope.bind(name, Missing(reason))
        return scope
