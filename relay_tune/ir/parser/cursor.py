"""A position in a list of tokens, with what every parser asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from relay_tune.arguments import did_you_mean
from relay_tune.errors import ParseError, Span
from relay_tune.ir.parser.lexer import Token, TokenKind, tokenize
from relay_tune.ir.source import Source

Item = TypeVar("Item")

NESTING_LIMIT = 100
"""How deep types, dimensions, patterns and attribute values may nest. Expressions have no limit."""

MOST_LISTED = 20
"""Where so many names could be meant, or fewer, an error lists them."""


class Cursor:
    """Reads tokens one by one; errors point at tokens."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.index = 0
        self._nesting = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    def following(self, count: int = 1) -> Token:
        """The token `count` positions after the next one, or the last one."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Take the next token."""
        token = self.tokens[self.index]
        if self.index + 1 < len(self.tokens):
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these symbols or keywords."""
        token = self.tokens[self.index]
        return token.text in texts and (
            token.kind is TokenKind.SYMBOL or token.kind is TokenKind.KEYWORD
        )

    def accept(self, text: str) -> bool:
        """Take the next token if it is this symbol or keyword."""
        if not self.at(text):
            return False
        self.advance()
        return True

    def expect(self, text: str, purpose: str = "") -> Token:
        """Take the symbol or keyword `text`; raises ParseError if something else stands here."""
        if not self.at(text):
            raise self.unexpected(f"'{text}'{purpose}")
        return self.advance()

    def expect_kind(self, kind: TokenKind) -> Token:
        """Take a token of a kind; raises ParseError if something else stands here."""
        if self.token.kind is not kind:
            raise self.unexpected(kind.value)
        return self.advance()

    def expect_name(self, what: str) -> Token:
        """Take a name, plain or in quotes."""
        if self.token.kind not in (TokenKind.NAME, TokenKind.STRING):
            raise self.unexpected(what)
        return self.advance()

    def list_until(self, closing: str, item: Callable[[], Item]) -> list[Item]:
        """A comma-separated list of items up to the bracket `closing`, which is taken."""
        items: list[Item] = []
        comma = True
        while not self.at_list_end(closing, comma):
            items.append(item())
            comma = self.accept(",")
        return items

    def at_list_end(self, closing: str, comma_given: bool) -> bool:
        """Whether a comma-separated list ends here; takes the closing bracket if so."""
        if self.accept(closing):
            return True
        if not comma_given:
            raise self.unexpected(f"',' or '{closing}'")
        return False

    def enter(self) -> None:
        """Go one level deeper into a type, pattern or attribute value."""
        self._nesting += 1
        if self._nesting > NESTING_LIMIT:
            raise self.error(
                f"This is nested deeper than {NESTING_LIMIT} levels.",
                self.token,
                remedy="Give names to the inner parts, or check for a missing bracket.",
            )

    def leave(self) -> None:
        """Come back from one level."""
        self._nesting -= 1

    def span_from(self, start: int) -> Span:
        """From the offset `start` to the end of the last token that was taken."""
        return self.source.span(start, self.tokens[max(0, self.index - 1)].end)

    def unexpected(self, wanted: str) -> ParseError:
        """The error that `wanted` should stand here."""
        token = self.token
        if token.kind is TokenKind.END:
            return self.error(f"The text ends where {wanted} should follow.", token)
        written = self.source.text[token.start : token.end]
        return self.error(f"Expected {wanted}, but found {written}.", token, label="here")

    def error(
        self, message: str, token: Token, *, label: str = "", remedy: str | None = None
    ) -> ParseError:
        """An error about one token."""
        return self.source.error(message, token.start, token.end, label=label, remedy=remedy)

    def unknown(self, what: str, name: str, known: Iterable[str], token: Token) -> ParseError:
        """The error that `name` is not defined, with the nearest defined names."""
        names = list(known)
        listed = (
            f"There are: {', '.join(names)}."
            if 0 < len(names) <= MOST_LISTED
            else "Define it first."
        )
        remedy = did_you_mean(name, names, listed)
        return self.error(f"There is no {what} {name}.", token, label="not defined", remedy=remedy)
