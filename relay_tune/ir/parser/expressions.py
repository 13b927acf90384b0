"""Expressions from tokens.

    sequence ::= (statement ';')* expr
    statement ::= 'let' %name (':' type)? '=' expr | %number '=' expr
                | 'free_var' %name (':' type)? | expr
    expr     ::= operand (infix operand)*
    operand  ::= '-'* (leaf | form) ('.' index | type_arguments? '(' arguments ')')*
    form     ::= '(' sequence ')' | '(' sequences ')' | '{' sequence '}' | 'fn' function
               | 'if' '(' sequence ')' block 'else' (block | if)
               | 'match' '?'? operand '{' (pattern '=>' sequence ','?)* '}'
               | 'ref' '(' .. ')' | 'ref_read' '(' .. ')' | 'ref_write' '(' .., .. ')'
    function ::= type_params? '(' params (',' attributes)? ')' ('->' type)? block

Functions here are generators for `relay_tune.ir.trampoline`, so text may nest to any depth.
"""

from __future__ import annotations

from collections.abc import Generator

from relay_tune.ir.expr import (
    NO_ATTRIBUTES,
    AttributeValue,
    Call,
    Clause,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.parser.attributes import AttributeParser, GivenAttribute
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.infix import NEGATION, OPERATOR_OF_SYMBOL, PRECEDENCE
from relay_tune.ir.parser.leaves import BARE_LEAVES, LeafParser, ParsedProgram
from relay_tune.ir.parser.lexer import Token, TokenKind
from relay_tune.ir.parser.patterns import PatternParser
from relay_tune.ir.parser.types import TypeParser
from relay_tune.ir.trampoline import Recursive
from relay_tune.ir.types import Type

Parsing = Recursive[Expr]

LONGEST_INDEX = 18
"""Digits of the index of a tuple's field."""


class ExpressionParser(LeafParser):
    """Reads expressions of all kinds."""

    def __init__(self, cursor: Cursor, program: ParsedProgram) -> None:
        super().__init__(cursor, program)
        self.types = TypeParser(cursor, program.types)
        self.attributes = AttributeParser(cursor)
        self.patterns = PatternParser(cursor, program.constructors, self._bound_var)

    def sequence(self) -> Parsing:
        """Statements and the expression that is their value."""
        local_mark, graph_mark = self.locals.enter(), self.graph.enter()
        lets: list[tuple[int, Var, Expr]] = []
        while True:
            start = self.cursor.token.start
            if self.cursor.accept("let"):
                lets.append((start, *(yield from self._let())))
            elif self.cursor.accept("free_var"):
                self._bound_var()
            elif self._at_graph_binding():
                yield from self._graph_binding()
            else:
                value = yield from self._expression()
                if not self.cursor.at(";"):
                    break
                lets.append((start, Var("_", span=value.span), value))
            self.cursor.expect(";")
        self.locals.leave(local_mark)
        self.graph.leave(graph_mark)
        for start, var, bound in reversed(lets):
            value = Let(var, bound, value, span=self.cursor.span_from(start))
        return value

    def _let(self) -> Generator[Parsing, Expr, tuple[Var, Expr]]:
        var = self._new_var()
        self.cursor.expect("=")
        if self.cursor.at("fn"):
            self.locals.bind(var.name, var)  # a function may call itself
        value = yield from self._expression()
        self.locals.bind(var.name, var)
        return var, value

    def _at_graph_binding(self) -> bool:
        following = self.cursor.following()
        return (
            self.cursor.token.kind is TokenKind.GRAPH
            and following.kind is TokenKind.SYMBOL
            and following.text == "="
        )

    def _graph_binding(self) -> Generator[Parsing, Expr, None]:
        name = self.cursor.advance().text
        self.cursor.expect("=")
        value = yield from self._expression()
        self.graph.bind(name, value)

    def _new_var(self) -> Var:
        token = self.cursor.expect_kind(TokenKind.LOCAL)
        annotation = self.types.annotation()
        return Var(token.text, annotation, span=self.cursor.span_from(token.start))

    def _bound_var(self) -> Var:
        var = self._new_var()
        self.locals.bind(var.name, var)
        return var

    def _infix_token(self) -> Token | None:
        token = self.cursor.token
        return token if token.kind is TokenKind.SYMBOL and token.text in PRECEDENCE else None

    def _expression(self) -> Generator[Parsing, Expr, Expr]:
        starts = [self.cursor.token.start]
        operands = [(yield from self._operand())]
        waiting: list[Token] = []
        while (infix := self._infix_token()) is not None:
            while waiting and PRECEDENCE[waiting[-1].text] >= PRECEDENCE[infix.text]:
                self._apply_infix(waiting.pop(), operands, starts)
            waiting.append(self.cursor.advance())
            starts.append(self.cursor.token.start)
            operands.append((yield from self._operand()))
        while waiting:
            self._apply_infix(waiting.pop(), operands, starts)
        return operands[0]

    def _apply_infix(self, infix: Token, operands: list[Expr], starts: list[int]) -> None:
        right, _ = operands.pop(), starts.pop()
        name = OPERATOR_OF_SYMBOL[infix.text]
        operands[-1] = self._call_by_name(name, infix, (operands[-1], right), starts[-1])

    def _call_by_name(
        self, name: str, symbol: Token, arguments: tuple[Expr, ...], start: int
    ) -> Call:
        operator = find_operator(name)
        if operator is None:
            message = f"'{symbol.text}' means the operator {name}, which is not registered."
            raise self.cursor.error(message, symbol, remedy="Import relay_tune.op first.")
        record = self.attributes.record(operator, {}, symbol)
        return Call(operator, arguments, record, span=self.cursor.span_from(start))

    def _operand(self) -> Generator[Parsing, Expr, Expr]:
        start = self.cursor.token.start
        if self.cursor.at("-"):
            return (yield from self._signed(start))
        operand = self.leaf()
        if operand is None:
            operand = yield from self._form(start)
        return (yield from self._postfix(operand, start))

    def _signed(self, start: int) -> Generator[Parsing, Expr, Expr]:
        sign = self.cursor.token
        negative = False
        while self.cursor.accept("-"):
            negative = not negative
        if self.cursor.token.kind is TokenKind.NUMBER:
            literal = self.number(start, negative=negative)
            return (yield from self._postfix(literal, start))
        operand = yield from self._operand()
        if not negative:
            return operand
        return self._call_by_name(NEGATION, sign, (operand,), start)

    def _postfix(self, operand: Expr, start: int) -> Generator[Parsing, Expr, Expr]:
        cursor = self.cursor
        while True:
            if cursor.at("("):
                operand = yield from self._call(operand, (), start)
            elif cursor.at("["):
                operand = yield from self._call(operand, self.types.type_arguments(), start)
            elif cursor.token.kind is TokenKind.PROJECTION:
                token = cursor.advance()
                if len(token.text) > LONGEST_INDEX:
                    raise cursor.error("The index of a field has at most 18 digits.", token)
                operand = TupleGetItem(operand, int(token.text), span=cursor.span_from(start))
            else:
                return operand

    def _call(
        self, callee: Expr, type_arguments: tuple[Type, ...], start: int
    ) -> Generator[Parsing, Expr, Call]:
        called = self.cursor.tokens[self.cursor.index - 1]
        self.cursor.expect("(")
        arguments, given = yield from self._arguments()
        record = None
        if isinstance(callee, Operator):
            record = self.attributes.record(callee, given, called)
        elif given:
            first = next(iter(given.values())).name
            raise self.cursor.error("Only calls of operators have attributes.", first)
        span = self.cursor.span_from(start)
        return Call(callee, arguments, record, type_arguments, span=span)

    def _arguments(
        self,
    ) -> Generator[Parsing, Expr, tuple[tuple[Expr, ...], dict[str, GivenAttribute]]]:
        arguments: list[Expr] = []
        comma = True
        while not self.cursor.at_list_end(")", comma):
            if self.attributes.at_attribute():
                return tuple(arguments), self.attributes.attributes(")")
            argument = self._bare_argument()
            arguments.append((yield self.sequence()) if argument is None else argument)
            comma = self.cursor.accept(",")
        return tuple(arguments), {}

    def _bare_argument(self) -> Expr | None:
        """A leaf with nothing after it: by far the most frequent argument."""
        if self.cursor.token.kind in BARE_LEAVES and self.cursor.following().text in (",", ")"):
            return self.leaf()
        return None

    def _form(self, start: int) -> Generator[Parsing, Expr, Expr]:
        cursor = self.cursor
        token = cursor.token
        if token.kind not in (TokenKind.SYMBOL, TokenKind.KEYWORD):
            raise cursor.unexpected("an expression")
        match token.text:
            case "(":
                return (yield from self._bracketed(start))
            case "{":
                return (yield from self._block())
            case "fn":
                cursor.advance()
                return (yield from self.function(start))
            case "if":
                return (yield from self._if(start))
            case "match":
                return (yield from self._match(start))
            case "ref" | "ref_read" | "ref_write":
                return (yield from self._reference(start))
            case _:
                raise cursor.unexpected("an expression")

    def _bracketed(self, start: int) -> Generator[Parsing, Expr, Expr]:
        self.cursor.expect("(")
        if self.cursor.accept(")"):
            return Tuple((), span=self.cursor.span_from(start))
        first = yield self.sequence()
        if self.cursor.accept(")"):
            return first
        fields = [first]
        while self.cursor.accept(",") and not self.cursor.at(")"):
            argument = self._bare_argument()
            fields.append((yield self.sequence()) if argument is None else argument)
        self.cursor.expect(")", " or ','")
        return Tuple(tuple(fields), span=self.cursor.span_from(start))

    def _block(self) -> Generator[Parsing, Expr, Expr]:
        self.cursor.expect("{")
        value = yield self.sequence()
        self.cursor.expect("}", " or ';'")
        return value

    def _if(self, start: int) -> Generator[Parsing, Expr, If]:
        self.cursor.expect("if")
        self.cursor.expect("(")
        condition = yield self.sequence()
        self.cursor.expect(")")
        true_branch = yield from self._block()
        self.cursor.expect("else")
        if self.cursor.at("if"):
            false_branch = yield self._if(self.cursor.token.start)
        else:
            false_branch = yield from self._block()
        return If(condition, true_branch, false_branch, span=self.cursor.span_from(start))

    def _match(self, start: int) -> Generator[Parsing, Expr, Match]:
        self.cursor.expect("match")
        complete = not self.cursor.accept("?")
        value = yield from self._operand()
        self.cursor.expect("{")
        clauses: list[Clause] = []
        comma = True
        while not self.cursor.at_list_end("}", comma):
            clauses.append((yield from self._clause()))
            comma = self.cursor.accept(",")
        return Match(value, tuple(clauses), complete, span=self.cursor.span_from(start))

    def _clause(self) -> Generator[Parsing, Expr, Clause]:
        mark = self.locals.enter()
        pattern = self.patterns.pattern()
        self.cursor.expect("=>")
        body = yield self.sequence()
        self.locals.leave(mark)
        return Clause(pattern, body)

    def _reference(self, start: int) -> Generator[Parsing, Expr, Expr]:
        keyword = self.cursor.advance()
        self.cursor.expect("(")
        arguments, _ = yield from self._arguments()
        wanted = 2 if keyword.text == "ref_write" else 1
        if len(arguments) != wanted:
            message = f"{keyword.text} takes {wanted} argument(s), not {len(arguments)}."
            raise self.cursor.error(message, keyword)
        span = self.cursor.span_from(start)
        match keyword.text:
            case "ref":
                return RefCreate(arguments[0], span=span)
            case "ref_read":
                return RefRead(arguments[0], span=span)
            case _:
                return RefWrite(arguments[0], arguments[1], span=span)

    def function(self, start: int) -> Generator[Parsing, Expr, Function]:
        """A function from its type parameters on."""
        type_mark, local_mark = self.types.variables.enter(), self.locals.enter()
        type_params = self.types.type_params()
        self.cursor.expect("(")
        params, attributes = self._params()
        result_type = self.types.type() if self.cursor.accept("->") else None
        body = yield from self._block()
        self.types.variables.leave(type_mark)
        self.locals.leave(local_mark)
        span = self.cursor.span_from(start)
        return Function(
            params, body, result_type, type_params, attributes or NO_ATTRIBUTES, span=span
        )

    def _params(self) -> tuple[tuple[Var, ...], dict[str, AttributeValue]]:
        params: dict[str, Var] = {}
        comma = True
        while not self.cursor.at_list_end(")", comma):
            if self.attributes.at_attribute():
                given = self.attributes.attributes(")")
                return tuple(params.values()), {name: item.value for name, item in given.items()}
            token = self.cursor.token
            var = self._bound_var()
            if var.name in params:
                raise self.cursor.error(f"The parameter %{var.name} is declared twice.", token)
            params[var.name] = var
            comma = self.cursor.accept(",")
        return tuple(params.values()), {}
