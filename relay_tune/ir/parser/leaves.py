"""Expressions of one token or little more: variables, names, literals, references to metadata."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from relay_tune.errors import ParseError
from relay_tune.ir.expr import Call, Constant, Constructor, Expr, GlobalVar, Var
from relay_tune.ir.literals import LiteralError, scalar_array
from relay_tune.ir.metadata import CONSTANTS, MetadataError, read_metadata
from relay_tune.ir.operator import find_operator, operators
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.lexer import Token, TokenKind
from relay_tune.ir.parser.scopes import Scopes
from relay_tune.ir.types import GlobalTypeVar
from relay_tune.quick_dataclass import dataclass

BARE_LEAVES = frozenset({TokenKind.LOCAL, TokenKind.GRAPH, TokenKind.GLOBAL, TokenKind.NUMBER})


@dataclass
class ParsedProgram:
    """The definitions outside of functions, as far as the text has been read."""

    types: dict[str, GlobalTypeVar] = field(default_factory=dict)
    constructors: dict[str, Constructor] = field(default_factory=dict)
    globals_used: dict[str, Token] = field(default_factory=dict)


class LeafParser:
    """Reads leaves; knows the variables in scope."""

    def __init__(self, cursor: Cursor, program: ParsedProgram) -> None:
        self.cursor = cursor
        self.program = program
        self.locals: Scopes[Var] = Scopes()
        self.graph: Scopes[Expr] = Scopes()
        self._tensors = _read_tensors(cursor)
        self._constants: dict[int, Constant] = {}

    def leaf(self) -> Expr | None:
        """The leaf that stands here, or None if something else does."""
        token = self.cursor.token
        match token.kind:
            case TokenKind.LOCAL:
                return self._looked_up(self.locals, "variable", "%")
            case TokenKind.GRAPH:
                return self._looked_up(self.graph, "graph variable", "%")
            case TokenKind.GLOBAL:
                self.cursor.advance()
                self.program.globals_used.setdefault(token.text, token)
                return GlobalVar(token.text, span=self.cursor.span_from(token.start))
            case TokenKind.NUMBER:
                return self.number(token.start, negative=False)
            case TokenKind.NAME | TokenKind.STRING:
                return self._named()
            case TokenKind.KEYWORD:
                return self._keyword(token)
            case _:
                return None

    def number(self, start: int, *, negative: bool) -> Constant:
        """A scalar constant; `start` is the offset of its sign."""
        token = self.cursor.expect_kind(TokenKind.NUMBER)
        try:
            data = scalar_array(token.text, negative)
        except LiteralError as error:
            message = f"{token.text} is not a constant."
            raise self.cursor.error(message, token, label=str(error)) from error
        return Constant(data, span=self.cursor.span_from(start))

    def _looked_up(self, scopes: Scopes[Var] | Scopes[Expr], what: str, sigil: str) -> Expr:
        token = self.cursor.advance()
        found = scopes.find(token.text)
        if found is None:
            raise self._unknown(what, sigil + token.text, [sigil + each for each in scopes], token)
        return found

    def _unknown(self, what: str, name: str, known: list[str], token: Token) -> ParseError:
        if not self.cursor.at("="):
            return self.cursor.unknown(what, name, known, token)
        return self.cursor.error(
            f"There is no {what} {name}.",
            token,
            label="not defined",
            remedy=f"Bind it: let {name} = ...; only numbered names such as %0 go without let.",
        )

    def _named(self) -> Expr:
        token = self.cursor.advance()
        constructor = self.program.constructors.get(token.text)
        if constructor is not None:
            if constructor.inputs or self.cursor.at("(", "["):
                return constructor
            return Call(constructor, (), span=self.cursor.span_from(token.start))
        operator = find_operator(token.text)
        if operator is not None:
            return operator
        known = [*self.program.constructors, *(known.name for known in operators())]
        raise self.cursor.unknown("operator or constructor", token.text, known, token)

    def _keyword(self, token: Token) -> Expr | None:
        if token.text in ("True", "False"):
            self.cursor.advance()
            data = np.asarray(token.text == "True")
            return Constant(data, span=self.cursor.span_from(token.start))
        if self.cursor.accept("meta"):
            return self._meta()
        if self.cursor.accept("constructor"):
            return self._bare_constructor()
        return None

    def _bare_constructor(self) -> Constructor:
        """`constructor(Name)`: a constructor without inputs, not applied."""
        self.cursor.expect("(")
        token = self.cursor.expect_name("a constructor")
        found = self.program.constructors.get(token.text)
        if found is None:
            raise self.cursor.unknown("constructor", token.text, self.program.constructors, token)
        self.cursor.expect(")")
        return found

    def _meta(self) -> Constant:
        """`meta[relay.Constant][index]`; one index is one constant."""
        cursor = self.cursor
        cursor.expect("[")
        key = cursor.expect_name(f"'{CONSTANTS}'")
        if key.text != CONSTANTS:
            raise cursor.error(f"The metadata section has only {CONSTANTS}.", key)
        cursor.expect("]")
        cursor.expect("[")
        token = cursor.expect_kind(TokenKind.NUMBER)
        index = int(token.text) if token.text.isdigit() and len(token.text) < 10 else -1
        if not 0 <= index < len(self._tensors):
            raise cursor.error(
                f"There is no constant {token.text} in the metadata section.",
                token,
                label=f"the section has {len(self._tensors)}",
            )
        cursor.expect("]")
        if index not in self._constants:
            self._constants[index] = Constant(
                self._tensors[index], span=cursor.span_from(key.start)
            )
        return self._constants[index]


def _read_tensors(cursor: Cursor) -> list[np.ndarray]:
    last = cursor.tokens[-1]
    if last.kind is not TokenKind.METADATA:
        return []
    try:
        return read_metadata(cursor.source.text[last.end :])
    except MetadataError as error:
        raise cursor.error(str(error), last) from error
