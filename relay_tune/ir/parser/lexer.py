"""Relay text to tokens.

    name        letters, digits, `_`, and `/` between them; parts joined by `.`: nn.conv2d
    local       %name or %"any text"        global  @name or @"any text"
    graph       %0, %1, ...                 number  1, 1i64, 1.5f, 1e-3f16, inff, nanf64
    string      "..." with the escapes of JSON
    projection  .0
    comment     // to the end of the line, or /* ... */, which nest

Between the brackets of `Tensor[...]`, `//` is floor division of dimensions and no comment. The
tokens end at `#[metadata]`: what follows is left to `relay_tune.ir.metadata`.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import NamedTuple

from relay_tune.ir.names import DOTTED, KEYWORDS, SPECIAL_FLOAT, STRING
from relay_tune.ir.source import Source


class TokenKind(Enum):
    """The kinds of tokens; the values are the words that messages use."""

    LOCAL = "a local variable"
    GLOBAL = "a global name"
    GRAPH = "a graph variable"
    NAME = "a name"
    KEYWORD = "a keyword"
    NUMBER = "a number"
    STRING = "a string"
    PROJECTION = "a projection"
    SYMBOL = "a symbol"
    METADATA = "the metadata section"
    END = "the end of the text"


class Token(NamedTuple):
    """One token; `text` is without sigil and quotes, `start` and `end` are offsets."""

    kind: TokenKind
    text: str
    start: int
    end: int


_SKIPPED_IN_PROGRAM = r"(?P<skip>(?:[ \t\r\n\f\v]+|//[^\n]*)+)"
_SKIPPED_IN_SHAPE = r"(?P<skip>[ \t\r\n\f\v]+)"
_TOKENS = rf"""
  | (?P<comment>/\*)
  | (?P<graph>%[0-9]+(?![A-Za-z_0-9]))
  | (?P<local>%{DOTTED})
  | (?P<quoted_local>%{STRING})
  | (?P<global>@{DOTTED})
  | (?P<quoted_global>@{STRING})
  | (?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?[A-Za-z_0-9]*|{SPECIAL_FLOAT})
  | (?P<name>{DOTTED})
  | (?P<string>{STRING})
  | (?P<projection>\.[0-9]+)
  | (?P<metadata>\#\[\s*metadata\s*\])
  | (?P<symbol>=>|->|==|!=|<=|>=|\#\[|//|[-+*/<>=(){{}}\[\],;:?])
"""
_PROGRAM = re.compile(_SKIPPED_IN_PROGRAM + _TOKENS, re.VERBOSE)
_SHAPE = re.compile(_SKIPPED_IN_SHAPE + _TOKENS, re.VERBOSE)
_COMMENT_MARK = re.compile(r"/\*|\*/")

# Each group: the kind of its tokens and how many characters of sigil stand before the text.
_GROUPS = {
    "graph": (TokenKind.GRAPH, 1),
    "local": (TokenKind.LOCAL, 1),
    "quoted_local": (TokenKind.LOCAL, 1),
    "global": (TokenKind.GLOBAL, 1),
    "quoted_global": (TokenKind.GLOBAL, 1),
    "number": (TokenKind.NUMBER, 0),
    "name": (TokenKind.NAME, 0),
    "string": (TokenKind.STRING, 0),
    "projection": (TokenKind.PROJECTION, 1),
    "metadata": (TokenKind.METADATA, 0),
    "symbol": (TokenKind.SYMBOL, 0),
}
_QUOTED = frozenset({"string", "quoted_local", "quoted_global"})


def tokenize(source: Source) -> list[Token]:
    """The tokens of a text, an END or METADATA token last; raises ParseError."""
    tokens: list[Token] = []
    text, position, bracket = source.text, 0, _TensorBracket()
    while position < len(text):
        found = (_SHAPE if bracket.inside else _PROGRAM).match(text, position)
        if found is None:
            raise _unexpected_character(source, position)
        group, position = found.lastgroup or "", found.end()
        if group == "skip":
            continue
        if group == "comment":
            position = _comment_end(source, found.start())
            continue
        token = _token(source, group, found)
        tokens.append(token)
        if token.kind is TokenKind.METADATA:
            return tokens
        bracket.advance(token)
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens


class _TensorBracket:
    """Keeps track of whether the text stands between the brackets of `Tensor[...]`."""

    def __init__(self) -> None:
        self.inside = False
        self._depth = 0

    def advance(self, token: Token) -> None:
        if not self.inside:
            self.inside = token.text == "Tensor" and token.kind is TokenKind.NAME
            self._depth = 0
        elif token.text in ("(", "["):
            self._depth += 1
        elif token.text in (")", "]"):
            self._depth -= 1
            self.inside = self._depth > 0
        elif self._depth == 0:
            self.inside = False


def _token(source: Source, group: str, found: re.Match[str]) -> Token:
    kind, sigil = _GROUPS[group]
    text = found.group()[sigil:]
    if group in _QUOTED:
        text = _unquoted(source, text, found)
    elif text in KEYWORDS and kind is TokenKind.NAME:
        kind = TokenKind.KEYWORD
    return Token(kind, text, found.start(), found.end())


def _unquoted(source: Source, text: str, found: re.Match[str]) -> str:
    try:
        return str(json.loads(text, strict=False))
    except json.JSONDecodeError as error:
        raise source.error(
            "This string has a wrong escape.",
            found.start(),
            found.end(),
            label=error.msg,
            remedy=r"Write \\ for a backslash, \" for a quote; \n, \t and \u0041 work too.",
        ) from error


def _comment_end(source: Source, start: int) -> int:
    depth, position = 0, start
    while mark := _COMMENT_MARK.search(source.text, position):
        depth += 1 if mark.group() == "/*" else -1
        position = mark.end()
        if depth == 0:
            return position
    raise source.error("This comment is never closed.", start, start + 2, label="opened here")


def _unexpected_character(source: Source, position: int) -> Exception:
    character = source.text[position]
    if character == '"':
        return source.error(
            "This string is not closed on its line.", position, position + 1, label="opened here"
        )
    if character in "%@":
        return source.error(
            f"A name must follow '{character}'.", position, position + 1, label="no name"
        )
    return source.error(f"The character {character!r} has no meaning here.", position, position + 1)
