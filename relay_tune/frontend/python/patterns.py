"""The patterns of Python's `match`.

case Cons(head, tail):      Cons(%head, %tail)        case Nil():     Nil
case [head, *tail]:         Cons(%head, %tail)        case []:        Nil
case (a, b):                (%a, %b)                  case _:         _
"""

from __future__ import annotations

import ast

from relay_tune.frontend.python.scope import NameScope, Static
from relay_tune.frontend.python.values import Values
from relay_tune.ir.expr import (
    Constructor,
    ConstructorPattern,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
)


class Patterns(Values):
    """Translates patterns."""

    def pattern(self, node: ast.pattern, scope: NameScope) -> tuple[Pattern, NameScope]:
        """A pattern, and the scope with the names that it binds."""
        match node:
            case ast.MatchAs(pattern=None, name=None):
                return WildcardPattern(), scope
            case ast.MatchAs(pattern=None, name=str(name)):
                var = Var(name, span=self.source.span(node))
                return VarPattern(var), scope.bind(name, var)
            case ast.MatchClass(kwd_patterns=[]):
                return self._constructor_pattern(node, scope)
            case ast.MatchSequence(patterns=[*items, ast.MatchStar(name)]):
                rest = ast.MatchAs(name=name)
                return self._list_pattern(items, ast.copy_location(rest, node), node, scope)
            case ast.MatchSequence(patterns=items) if self.source.begins_with(node, "["):
                return self._list_pattern(items, None, node, scope)
            case ast.MatchSequence(patterns=parts):
                patterns, scope = self._all(parts, scope)
                return TuplePattern(patterns), scope
        raise self.source.error(
            node,
            "This pattern has no meaning in Relay.",
            remedy="Patterns are names, _, constructors, tuples, and [first, *rest].",
        )

    def _constructor_pattern(
        self, node: ast.MatchClass, scope: NameScope
    ) -> tuple[Pattern, NameScope]:
        found = self.named(node.cls, scope) if isinstance(node.cls, ast.Name) else None
        match found:
            case Static(Constructor() as constructor):
                pass
            case _:
                raise self.source.error(
                    node.cls,
                    f"{ast.unparse(node.cls)} is no constructor.",
                    remedy="Write a constructor of the base module, such as Cons.",
                )
        if len(node.patterns) != len(constructor.inputs):
            raise self.source.error(
                node,
                f"{constructor.name} has {len(constructor.inputs)} field(s), "
                f"not {len(node.patterns)}.",
                remedy="Write one pattern for each field; _ fits all.",
            )
        patterns, scope = self._all(node.patterns, scope)
        return ConstructorPattern(constructor, patterns), scope

    def _list_pattern(
        self, items: list[ast.pattern], rest: ast.pattern | None, node: ast.AST, scope: NameScope
    ) -> tuple[Pattern, NameScope]:
        patterns, scope = self._all(items, scope)
        result: Pattern = ConstructorPattern(self._constructor("Nil", node), ())
        if rest is not None:
            result, scope = self.pattern(rest, scope)
        for item in reversed(patterns):
            result = ConstructorPattern(self._constructor("Cons", node), (item, result))
        return result, scope

    def _all(
        self, nodes: list[ast.pattern], scope: NameScope
    ) -> tuple[tuple[Pattern, ...], NameScope]:
        patterns = []
        for node in nodes:
            pattern, scope = self.pattern(node, scope)
            patterns.append(pattern)
        return tuple(patterns), scope
