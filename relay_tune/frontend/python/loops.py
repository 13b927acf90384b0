"""`while`, and `for` over ranges and lists: local recursive functions of the names they assign.

while i < n:           let %loop = fn (%i, %s) {
    s = s + i            if (%i < %n) { %loop(%i + 1, %s + %i) } else { (%i, %s) }
    i = i + 1          };
                       let %results = %loop(%i, %s);
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence

from relay_tune.frontend.python.branches import Branches
from relay_tune.frontend.python.flow import Continuation, Exits, Lets, Steps, bound
from relay_tune.frontend.python.names import assigned_names, breaks, target_names
from relay_tune.frontend.python.scope import Meaning, NameScope, Static
from relay_tune.ir.expr import (
    Call,
    Clause,
    ConstructorPattern,
    Expr,
    Function,
    If,
    Match,
    Var,
    VarPattern,
)
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, whatever it goes over.

    Attributes:
        statement: the statement.
        head: the parameters that say how far the loop is: a counter, or the rest of a list.
        start: their values at the beginning.
        following: their values in the next round.
        test: makes the expression of a round from the scope, what to do, and what to do at the end.
        targets: names that each round assigns anew.
    """

    statement: ast.For | ast.While
    head: tuple[Var, ...]
    start: tuple[Expr, ...]
    following: tuple[Expr, ...]
    test: Callable[[NameScope, Continuation, Continuation], Expr]
    targets: tuple[str, ...] = ()


class Loops(Branches):
    """Translates loops."""

    def loop(self, statement: ast.For | ast.While, scope: NameScope, lets: Lets) -> Loop:
        """Read the head of a loop."""
        if statement.orelse:
            raise self.source.error(
                statement.orelse[0],
                "Loops have no else.",
                remedy="Put the statements behind the loop.",
            )
        if isinstance(statement, ast.While):
            return self._while(statement)
        ranges = _range_arguments(statement.iter)
        if ranges is not None:
            return self._range(statement, ranges, scope, lets)
        return self._over_list(statement, scope)

    def run(self, loop: Loop, scope: NameScope, lets: Lets) -> NameScope:
        """A loop that ends by its test or by break: its results are the names it assigns."""
        names = self._carried(loop, scope)

        def leave(reached: NameScope) -> Expr:
            return self.results(names, reached, loop.statement)

        call = self._recursion(loop, names, scope, leave, lets)
        return self.take_results(names, call, self._outside(loop, names, scope), lets)

    def run_last(self, loop: Loop, scope: NameScope, rest: Steps, exits: Exits) -> Expr:
        """A loop in which a return stands: what follows it is the end of its recursion."""
        names, lets = self._carried(loop, scope), Lets()
        outside = self._outside(loop, names, scope)

        def after(reached: NameScope) -> Expr:
            known = outside
            for name in names:
                known = known.bind(name, reached.names[name])
            return self.block(rest, known, exits)

        leave: Continuation = after
        if breaks(loop.statement.body):
            binding, leave = self.joined_by_function(names, outside, after, loop.statement)
            lets.append(binding)
        call = self._recursion(loop, names, scope, leave, lets)
        return bound(lets, call)

    def _recursion(
        self, loop: Loop, names: Sequence[str], scope: NameScope, leave: Continuation, lets: Lets
    ) -> Expr:
        """Binds the recursive function of a loop and gives its first call."""
        node = loop.statement
        function = Var("loop", span=self.source.span(node))
        params, inner = self.as_parameters(names, scope)

        def again(reached: NameScope) -> Expr:
            values = self.values_of(names, reached, node)
            return self.located(Call(function, (*loop.following, *values)), node)

        def round_(reached: NameScope) -> Expr:
            exits = Exits(again, True, break_=leave, continue_=again)
            return self.block(node.body, reached, exits)

        body = loop.test(inner, round_, leave)
        lets.append((function, self.located(Function((*loop.head, *params), body), node)))
        values = self.values_of(names, scope, node)
        return self.located(Call(function, (*loop.start, *values)), node)

    def _carried(self, loop: Loop, scope: NameScope) -> tuple[str, ...]:
        """The names that pass from one round to the next."""
        assigned = assigned_names(loop.statement.body)
        return tuple(name for name in assigned if scope.has(name) and name not in loop.targets)

    def _outside(self, loop: Loop, names: Sequence[str], scope: NameScope) -> NameScope:
        inside = {*loop.targets, *assigned_names(loop.statement.body)} - set(names)
        line = self.source.span(loop.statement).line
        return self.forget(sorted(inside), scope, f"only the loop at line {line} assigns it")

    def _while(self, node: ast.While) -> Loop:
        def test(scope: NameScope, round_: Continuation, leave: Continuation) -> Expr:
            condition = self.value(node.test, scope)
            if isinstance(condition, Static):
                return round_(scope) if condition.value else leave(scope)
            return self.located(If(condition, round_(scope), leave(scope)), node.test)

        return Loop(node, (), (), (), test)

    def _range(
        self, node: ast.For, arguments: Sequence[ast.expr], scope: NameScope, lets: Lets
    ) -> Loop:
        if not isinstance(node.target, ast.Name) or not 1 <= len(arguments) <= 3:
            raise self.source.error(
                node,
                "A loop over a range has one name and 1 to 3 bounds.",
                remedy="Write it as: for i in range(begin, end, step).",
            )
        values: list[Meaning] = [self.value(argument, scope) for argument in arguments]
        if len(values) == 1:
            values.insert(0, Static(0))
        step = values[2].value if len(values) == 3 and isinstance(values[2], Static) else None
        step = 1 if len(values) == 2 else step
        if not isinstance(step, int) or step == 0:
            raise self.source.error(
                node,
                "The step of a range is a number that is written here.",
                remedy="Write the number, or count in a while loop.",
            )
        start, stop = self.alike(values[:2], node.iter)
        limit = Var("stop", span=stop.span)
        lets.append((limit, stop))
        counter = Var(node.target.id, span=self.source.span(node.target))
        following = self.located(self.pair("add", counter, Static(step), node), node.iter)

        def test(scope: NameScope, round_: Continuation, leave: Continuation) -> Expr:
            goes_on = self.pair("less" if step > 0 else "greater", counter, limit, node)
            inner = scope.bind(counter.name, counter)
            return self.located(If(self.located(goes_on, node), round_(inner), leave(scope)), node)

        return Loop(node, (counter,), (start,), (following,), test, (counter.name,))

    def _over_list(self, node: ast.For, scope: NameScope) -> Loop:
        items = self.expr(node.iter, scope)
        if isinstance(items, Var) and isinstance(items.annotation, TensorType):
            raise self.source.error(
                node.iter,
                "`for` goes over ranges and lists, not over a tensor.",
                label=type_text(items.annotation),
                remedy=f"Write `for i in range(len({items.name}))`, and {items.name}[i] for a row.",
            )
        left, item, rest = Var("items"), Var("item"), Var("rest")
        cons, nil = self._constructor("Cons", node), self._constructor("Nil", node)
        pattern = ConstructorPattern(cons, (VarPattern(item), VarPattern(rest)))

        def test(scope: NameScope, round_: Continuation, leave: Continuation) -> Expr:
            lets: Lets = []
            inner = self.assign(node.target, item, scope, lets)
            clauses = (
                Clause(pattern, bound(lets, round_(inner))),
                Clause(ConstructorPattern(nil, ()), leave(scope)),
            )
            return self.located(Match(left, clauses), node.iter)

        names = tuple(target_names(node.target))
        return Loop(node, (left,), (items,), (rest,), test, names)

    @abstractmethod
    def assign(self, target: ast.expr, value: Meaning, scope: NameScope, lets: Lets) -> NameScope:
        """Give the names of a target their values."""


def _range_arguments(node: ast.expr) -> list[ast.expr] | None:
    """The bounds of `range(...)`, None for any other expression."""
    match node:
        case ast.Call(func=ast.Name("range"), keywords=[]):
            return node.args
        case _:
            return None
