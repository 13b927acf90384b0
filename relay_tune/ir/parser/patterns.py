"""Patterns of `match` from tokens.

pattern ::= '_' | %name (':' type)? | constructor ('(' patterns ')')? | '(' patterns ')'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.ir.expr import (
    Constructor,
    ConstructorPattern,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
)
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.lexer import TokenKind


class PatternParser:
    """Reads patterns; `bind_var` reads and binds one variable with its annotation."""

    def __init__(
        self,
        cursor: Cursor,
        constructors: Mapping[str, Constructor],
        bind_var: Callable[[], Var],
    ) -> None:
        self.cursor = cursor
        self.constructors = constructors
        self.bind_var = bind_var

    def pattern(self) -> Pattern:
        """One pattern; its variables are bound from here on."""
        self.cursor.enter()
        result = self._pattern()
        self.cursor.leave()
        return result

    def _pattern(self) -> Pattern:
        cursor = self.cursor
        if cursor.token.kind is TokenKind.LOCAL:
            return VarPattern(self.bind_var())
        if cursor.accept("("):
            return TuplePattern(self._patterns())
        if cursor.token.kind is TokenKind.NAME and cursor.token.text == "_":
            cursor.advance()
            return WildcardPattern()
        token = cursor.expect_name("a pattern")
        constructor = self.constructors.get(token.text)
        if constructor is None:
            raise cursor.unknown("constructor", token.text, self.constructors, token)
        return ConstructorPattern(constructor, self._patterns() if cursor.accept("(") else ())

    def _patterns(self) -> tuple[Pattern, ...]:
        return tuple(self.cursor.list_until(")", self.pattern))
