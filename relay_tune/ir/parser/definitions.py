"""Modules from tokens.

    module     ::= ('#[' 'version' '=' string ']')? ('#[' 'attributes' '(' attributes ')' ']')?
                   definition* metadata?
    definition ::= 'def' @name function
                 | 'extern'? 'type' name type_params? ('{' (constructor ','?)* '}')?
    constructor ::= name ('(' types ')')?

Definitions may use each other in any order: data types are read first, then functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.ir.expr import AttributeValue, Constructor, Function
from relay_tune.ir.module import Module
from relay_tune.ir.parser.attributes import AttributeParser
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.expressions import ExpressionParser
from relay_tune.ir.parser.leaves import ParsedProgram
from relay_tune.ir.parser.lexer import TokenKind
from relay_tune.ir.parser.types import TypeParser
from relay_tune.ir.trampoline import run
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import GlobalTypeVar, Type

VERSION = "0.0.5"
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def program_of(module: Module | None) -> ParsedProgram:
    """A module's definitions, for the parsing of text that uses them."""
    program = ParsedProgram()
    if module is None:
        return program
    for name, data in module.types.items():
        program.types[name] = data.header
        program.constructors |= {known.name: known for known in data.constructors}
    return program


class DefinitionParser:
    """Reads a module; definitions of `base` are visible and become part of it."""

    def __init__(self, cursor: Cursor, base: Module | None) -> None:
        self.cursor = cursor
        self.base = base if base is not None else Module({})
        self.program = program_of(base)
        self.type_data: dict[str, TypeData] = {}
        self.functions: dict[str, Function] = {}
        self._boundaries: frozenset[int] = frozenset()

    def module(self) -> Module:
        """The module; raises ParseError."""
        attributes = read_headers(self.cursor)
        starts = list(self._definition_starts())
        self._boundaries = frozenset(starts)
        self._expect_definition()
        self._read_types(starts)
        self._read_functions(starts)
        self._check_globals()
        source = self.cursor.source
        program_text = source.text[: self.cursor.tokens[-1].start]
        return Module(
            {**self.base.functions, **self.functions},
            {**self.base.types, **self.type_data},
            {**self.base.attributes, **attributes},
            {**self.base.sources, source.name: program_text},
        )

    def _expect_definition(self) -> None:
        """A definition or the end must stand here."""
        cursor = self.cursor
        if cursor.index in self._boundaries:
            return
        found = cursor.source.text[cursor.token.start : cursor.token.end]
        raise cursor.error(
            f"Expected a definition (def, type, extern type), but found {found}.",
            cursor.token,
            label="here",
            remedy="An expression alone is read by parse_expr; a module has `def @main(..) {..}`.",
        )

    def _definition_starts(self) -> Iterator[int]:
        """The token indices at which definitions begin, and the one after the last of them."""
        depth = 0
        for index in range(self.cursor.index, len(self.cursor.tokens)):
            kind, text, _, _ = self.cursor.tokens[index]
            if kind is TokenKind.SYMBOL:
                depth += (text in _OPENING) - (text in _CLOSING)
                depth = max(depth, 0)
            elif kind is TokenKind.KEYWORD and depth == 0 and self._begins_definition(index):
                yield index
        yield len(self.cursor.tokens) - 1

    def _begins_definition(self, index: int) -> bool:
        text = self.cursor.tokens[index].text
        if text == "type":
            return self.cursor.tokens[index - 1].text != "extern"
        return text in ("def", "extern")

    def _read_types(self, starts: list[int]) -> None:
        types = [start for start in starts if self.cursor.tokens[start].text in ("type", "extern")]
        names = {start: self._declare_type(start) for start in types}
        for start, header in names.items():
            self._read_type(start, header)

    def _declare_type(self, start: int) -> GlobalTypeVar:
        self.cursor.index = start
        self.cursor.accept("extern")
        self.cursor.expect("type")
        name = self.cursor.expect_name("the name of a type")
        if name.text in self.program.types:
            raise self.cursor.error(f"The type {name.text} is defined twice.", name)
        header = GlobalTypeVar(name.text)
        self.program.types[name.text] = header
        return header

    def _read_type(self, start: int, header: GlobalTypeVar) -> None:
        cursor = self.cursor
        cursor.index = start
        extern = cursor.accept("extern")
        cursor.expect("type")
        cursor.advance()
        types = TypeParser(cursor, self.program.types)
        params = types.type_params()
        constructors: list[Constructor] = []
        comma = cursor.accept("{")
        while comma and not cursor.at_list_end("}", comma):
            constructors.append(self._constructor(types, header, len(constructors)))
            if not cursor.accept(",") and not cursor.at("}"):
                raise cursor.unexpected("',' or '}'")
        self._expect_definition()
        self.type_data[header.name] = TypeData(header, params, tuple(constructors), extern)

    def _constructor(self, types: TypeParser, header: GlobalTypeVar, tag: int) -> Constructor:
        token = self.cursor.expect_name("the name of a constructor")
        if token.text in self.program.constructors:
            raise self.cursor.error(f"The constructor {token.text} is defined twice.", token)
        inputs: tuple[Type, ...] = tuple(types.types_until(")")) if self.cursor.accept("(") else ()
        span = self.cursor.span_from(token.start)
        constructor = Constructor(token.text, inputs, header, tag, span=span)
        self.program.constructors[token.text] = constructor
        return constructor

    def _read_functions(self, starts: list[int]) -> None:
        parser = ExpressionParser(self.cursor, self.program)
        for start in starts:
            if self.cursor.tokens[start].text == "def":
                self._read_function(parser, start)

    def _read_function(self, parser: ExpressionParser, start: int) -> None:
        self.cursor.index = start
        begin = self.cursor.expect("def").start
        name = self.cursor.expect_kind(TokenKind.GLOBAL)
        if name.text in self.functions or name.text in self.base.functions:
            raise self.cursor.error(f"The function @{name.text} is defined twice.", name)
        self.functions[name.text] = run(parser.function(begin))
        self._expect_definition()

    def _check_globals(self) -> None:
        known = {**self.base.functions, **self.functions}
        for name, token in self.program.globals_used.items():
            if name not in known:
                close = [f"@{near}" for near in known]
                raise self.cursor.unknown("function", f"@{name}", close, token)


def read_headers(cursor: Cursor) -> dict[str, AttributeValue]:
    """The lines `#[version = ...]` and `#[attributes(...)]`; gives the module attributes."""
    attributes: dict[str, AttributeValue] = {}
    while cursor.accept("#["):
        token = cursor.expect_name("version, attributes or metadata")
        match token.text:
            case "version":
                _read_version(cursor)
            case "attributes":
                cursor.expect("(")
                given = AttributeParser(cursor).attributes(")")
                attributes |= {name: item.value for name, item in given.items()}
            case _:
                known = ("version", "attributes", "metadata")
                raise cursor.unknown("header", token.text, known, token)
        cursor.expect("]")
    return attributes


def _read_version(cursor: Cursor) -> None:
    cursor.expect("=")
    version = cursor.expect_kind(TokenKind.STRING)
    if version.text != VERSION:
        raise cursor.error(
            f"This text has version {version.text}; only {VERSION} can be read.", version
        )
