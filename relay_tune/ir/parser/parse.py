"""Relay text to modules and expressions. The grammar: docs/language.md.

Parsing infers no types and reads each token a bounded number of times. Only the nesting of types,
dimensions, patterns and attribute values is limited (`relay_tune.ir.parser.cursor.NESTING_LIMIT`);
expressions may be long and deep as they like.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.arguments import instance_of
from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.definitions import DefinitionParser, program_of, read_headers
from relay_tune.ir.parser.expressions import ExpressionParser
from relay_tune.ir.parser.lexer import TokenKind
from relay_tune.ir.parser.types import TypeParser
from relay_tune.ir.source import Source
from relay_tune.ir.trampoline import run
from relay_tune.ir.types import Type, TypeVar


def parse(text: str, source_name: str = "from_string", base: Module | None = None) -> Module:
    """The module that `text` describes, and that spans call `source_name`.

    The definitions of `base` are visible to the text and become part of the result. Raises
    ParseError; InputError for what is no text.
    """
    _require_text(text)
    return DefinitionParser(Cursor(Source(text, source_name)), base).module()


def _require_text(text: object) -> None:
    remedy = "Decode bytes with .decode(); read files with Path(name).read_text()."
    instance_of(str, text, "Relay text", remedy)


def parse_expr(text: str, source_name: str = "from_string", base: Module | None = None) -> Expr:
    """The expression that `text` describes; it may use the data types of `base`.

    Global names need not be defined, and variables may be declared by `free_var %x: type;`.
    Raises ParseError; InputError for what is no text.
    """
    _require_text(text)
    cursor = Cursor(Source(text, source_name))
    read_headers(cursor)
    expr = run(ExpressionParser(cursor, program_of(base)).sequence())
    if cursor.token.kind not in (TokenKind.END, TokenKind.METADATA):
        raise cursor.unexpected("the end of the expression")
    return expr


def parse_type(
    text: str, base: Module | None = None, variables: Mapping[str, TypeVar] | None = None
) -> Type:
    """The type that `text` describes; it may use the data types of `base`, and `variables`.

    Raises ParseError; InputError for what is no text.
    """
    _require_text(text)
    cursor = Cursor(Source(text, "type"))
    parser = TypeParser(cursor, program_of(base).types)
    for name, variable in (variables or {}).items():
        parser.variables.bind(name, variable)
    type_ = parser.type()
    cursor.expect_kind(TokenKind.END)
    return type_
