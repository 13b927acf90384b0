"""Attributes from tokens, for operator calls, functions and modules.

    attributes ::= name '=' value (','? name '=' value)*
    value ::= '-'* number | string | 'True' | 'False' | 'None' | 'nullptr'
            | '[' values ']' | '(' values ')'

A number with a point, an exponent or the suffix `f` is a float. `(value)` is the value in
brackets, `(value,)` a tuple of one.
"""

from __future__ import annotations

from relay_tune.errors import RelayError
from relay_tune.ir.attribute_check import (
    AttributeMismatch,
    declared_attributes,
    describe,
    fitted,
    required_attributes,
)
from relay_tune.ir.expr import Attributes, AttributeValue
from relay_tune.ir.literals import LiteralError, split_number
from relay_tune.ir.operator import Operator
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.lexer import Token, TokenKind
from relay_tune.quick_dataclass import dataclass

_WORDS: dict[str, AttributeValue] = {"True": True, "False": False, "None": None, "nullptr": None}
_NAME_KINDS = (TokenKind.NAME, TokenKind.KEYWORD, TokenKind.STRING)


@dataclass(frozen=True, slots=True)
class GivenAttribute:
    """`name = value` as written."""

    name: Token
    value: AttributeValue
    value_start: Token
    value_end: int


class AttributeParser:
    """Reads attributes and fits them to operators."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def at_attribute(self) -> bool:
        """Whether `name =` stands here."""
        following = self.cursor.following()
        return (
            self.cursor.token.kind in _NAME_KINDS
            and following.kind is TokenKind.SYMBOL
            and following.text == "="
        )

    def attributes(self, closing: str) -> dict[str, GivenAttribute]:
        """Attributes up to the bracket `closing`, which is taken."""
        given: dict[str, GivenAttribute] = {}
        while not self.cursor.accept(closing):
            if not self.at_attribute():
                raise self.cursor.unexpected(f"an attribute (name = value) or '{closing}'")
            name = self.cursor.advance()
            if name.text in given:
                raise self.cursor.error(f"The attribute {name.text} is given twice.", name)
            self.cursor.expect("=")
            start = self.cursor.token
            value = self.value()
            end = self.cursor.tokens[self.cursor.index - 1].end
            given[name.text] = GivenAttribute(name, value, start, end)
            self.cursor.accept(",")
        return given

    def value(self) -> AttributeValue:
        """One attribute value."""
        self.cursor.enter()
        result = self._value()
        self.cursor.leave()
        return result

    def _value(self) -> AttributeValue:
        cursor = self.cursor
        token = cursor.token
        if cursor.at("-") or token.kind is TokenKind.NUMBER:
            return self._number()
        if token.kind is TokenKind.STRING:
            return cursor.advance().text
        if token.kind in (TokenKind.KEYWORD, TokenKind.NAME) and token.text in _WORDS:
            return _WORDS[cursor.advance().text]
        if cursor.accept("["):
            return cursor.list_until("]", self.value)
        if cursor.accept("("):
            return self._bracketed()
        raise cursor.unexpected("a value (a number, string, True, False, None, list or tuple)")

    def _number(self) -> int | float:
        negative = False
        while self.cursor.accept("-"):
            negative = not negative
        token = self.cursor.expect_kind(TokenKind.NUMBER)
        try:
            return split_number(token.text).python_value(negative)
        except LiteralError as error:
            raise self.cursor.error("This is no number.", token, label=str(error)) from error

    def _bracketed(self) -> AttributeValue:
        if self.cursor.accept(")"):
            return ()
        first = self.value()
        if self.cursor.accept(")"):
            return first
        self.cursor.expect(",", " or ')'")
        return (first, *self.cursor.list_until(")", self.value))

    def record(
        self, operator: Operator, given: dict[str, GivenAttribute], call: Token
    ) -> Attributes:
        """The attribute record of a call; `call` is the token that errors of the whole point at."""
        declared = declared_attributes(operator.attributes)
        for name, attribute in given.items():
            if name not in declared:
                what = f"attribute of {operator.name} called"
                raise self.cursor.unknown(what, name, declared, attribute.name)
        missing = [name for name in required_attributes(operator.attributes) if name not in given]
        if missing:
            raise self.cursor.error(
                f"Operator {operator.name} needs the attribute(s) {', '.join(missing)}.", call
            )
        values = {name: self._fitted(operator, given[name]) for name in given}
        try:
            return operator.attributes(**values)
        except (ValueError, TypeError, RelayError) as error:
            message = error.message if isinstance(error, RelayError) else f"{error}."
            raise self.cursor.error(
                f"The attributes of {operator.name} are wrong: {message}", call
            ) from error

    def _fitted(self, operator: Operator, given: GivenAttribute) -> AttributeValue:
        try:
            return fitted(operator.attributes, given.name.text, given.value)
        except AttributeMismatch as error:
            wanted = describe(operator.attributes, given.name.text)
            raise self.cursor.source.error(
                f"The attribute {given.name.text} of {operator.name} must be {wanted}.",
                given.value_start.start,
                given.value_end,
                label=f"this is {type(given.value).__name__}",
            ) from error
