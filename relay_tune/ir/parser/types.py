"""Types and dimensions from tokens.

    type ::= atom ('[' types ']')*
    atom ::= 'Tensor' '[' '(' dims ')' ',' dtype ']' | dtype | '_' | name | 'ref' '(' type ')'
           | 'fn' type_params? '(' types ')' '->' type | '(' type ')' | '(' types ')'
    dim  ::= term (('+' | '-') term)*        term ::= factor (('*' | '//') factor)*
    factor ::= '-' factor | integer | '?' | name | '(' dim ')' | ('max' | 'min') '(' dim ',' dim ')'
    type_params ::= '[' name (':' kind)? (',' ...)* ']'

`(T)` is T in brackets, `(T,)` a tuple of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.ir.dim import UNKNOWN, Dim, Symbol
from relay_tune.ir.dim_arithmetic import add, floor_divide, maximum, minimum, multiply, subtract
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.parser.cursor import Cursor
from relay_tune.ir.parser.lexer import TokenKind
from relay_tune.ir.parser.scopes import Scopes
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar_type,
)

_EXTREMES = {"max": maximum, "min": minimum}


class TypeParser:
    """Reads types; `defined` are the algebraic data types, `variables` the type parameters."""

    def __init__(self, cursor: Cursor, defined: Mapping[str, GlobalTypeVar]) -> None:
        self.cursor = cursor
        self.defined = defined
        self.variables: Scopes[TypeVar] = Scopes()

    def type(self) -> Type:
        """One type."""
        self.cursor.enter()
        result = self._atom()
        while self.cursor.accept("["):
            result = TypeCall(result, tuple(self.types_until("]")))
        self.cursor.leave()
        return result

    def annotation(self) -> Type | None:
        """`: type`, if it stands here."""
        return self.type() if self.cursor.accept(":") else None

    def type_arguments(self) -> tuple[Type, ...]:
        """`[type, ...]`."""
        self.cursor.expect("[")
        return tuple(self.types_until("]"))

    def type_params(self) -> tuple[TypeVar, ...]:
        """`[A, B: Shape]`, if it stands here; binds the names."""
        if not self.cursor.accept("["):
            return ()
        return tuple(self.cursor.list_until("]", self._type_param))

    def _type_param(self) -> TypeVar:
        token = self.cursor.expect_name("the name of a type parameter")
        param = TypeVar(token.text, self._kind())
        self.variables.bind(token.text, param)
        return param

    def _kind(self) -> Kind:
        if not self.cursor.accept(":"):
            return Kind.TYPE
        token = self.cursor.expect_name("a kind")
        for kind in Kind:
            if kind.value == token.text:
                return kind
        raise self.cursor.unknown("kind", token.text, [kind.value for kind in Kind], token)

    def types_until(self, closing: str) -> list[Type]:
        """Types up to the bracket `closing`, which is taken."""
        return self.cursor.list_until(closing, self.type)

    def _atom(self) -> Type:
        cursor = self.cursor
        if cursor.accept("("):
            return self._bracketed()
        if cursor.accept("ref"):
            cursor.expect("(")
            value = self.type()
            cursor.expect(")")
            return RefType(value)
        if cursor.accept("fn"):
            return self._function_type()
        if cursor.token.kind is TokenKind.STRING:
            return self._named()
        if cursor.token.kind is not TokenKind.NAME:
            raise cursor.unexpected("a type")
        if cursor.token.text == "_":
            cursor.advance()
            return IncompleteType()
        if cursor.token.text == "Tensor":
            return self._tensor()
        if cursor.token.text in DTYPES:
            return scalar_type(cursor.advance().text)
        return self._named()

    def _named(self) -> Type:
        token = self.cursor.advance()
        found = self.variables.find(token.text) or self.defined.get(token.text)
        if found is None:
            known = [*self.variables, *self.defined, *DTYPES]
            raise self.cursor.unknown("type", token.text, known, token)
        return found

    def _bracketed(self) -> Type:
        if self.cursor.accept(")"):
            return TupleType(())
        first = self.type()
        if self.cursor.accept(")"):
            return first
        self.cursor.expect(",", " or ')'")
        return TupleType((first, *self.types_until(")")))

    def _function_type(self) -> FuncType:
        mark = self.variables.enter()
        type_params = self.type_params()
        self.cursor.expect("(")
        params = tuple(self.types_until(")"))
        self.cursor.expect("->")
        result = self.type()
        self.variables.leave(mark)
        return FuncType(params, result, type_params)

    def _tensor(self) -> TensorType:
        cursor = self.cursor
        cursor.advance()
        cursor.expect("[")
        cursor.expect("(")
        dims = cursor.list_until(")", self.dim)
        cursor.expect(",")
        token = cursor.expect_name("an element type")
        if token.text not in DTYPES:
            raise cursor.unknown("element type", token.text, DTYPES, token)
        cursor.expect("]")
        return TensorType(tuple(dims), token.text)

    def dim(self) -> Dim:
        """One dimension, in normal form."""
        self.cursor.enter()
        result = self._term()
        while self.cursor.at("+", "-"):
            operation = add if self.cursor.advance().text == "+" else subtract
            result = operation(result, self._term())
        self.cursor.leave()
        return result

    def _term(self) -> Dim:
        result = self._factor()
        while self.cursor.at("*", "//"):
            if self.cursor.accept("*"):
                result = multiply(result, self._factor())
            else:
                result = self._divided(result)
        return result

    def _divided(self, dividend: Dim) -> Dim:
        self.cursor.expect("//")
        token = self.cursor.token
        divisor = self._factor()
        if not isinstance(divisor, int) or divisor == 0:
            raise self.cursor.error("A dimension can be divided by an integer only, not 0.", token)
        return floor_divide(dividend, divisor)

    def _factor(self) -> Dim:
        cursor = self.cursor
        negative = False
        while cursor.accept("-"):
            negative = not negative
        factor = self._positive_factor()
        return multiply(-1, factor) if negative else factor

    def _extreme(self, operation: Callable[[Dim, Dim], Dim]) -> Dim:
        """The rest of `max(dim, dim)` behind the bracket."""
        left = self.dim()
        self.cursor.expect(",")
        right = self.dim()
        self.cursor.expect(")")
        return operation(left, right)

    def _symbol(self) -> Dim:
        token = self.cursor.expect_name("a dimension")
        if token.text == "_" and token.kind is TokenKind.NAME:
            raise self.cursor.error(
                "A size cannot be left out.",
                token,
                remedy="Write ? for a size that is known at run time only, or a name.",
            )
        extreme = _EXTREMES.get(token.text) if token.kind is TokenKind.NAME else None
        if extreme is not None and self.cursor.accept("("):
            return self._extreme(extreme)
        return Symbol(token.text)

    def _positive_factor(self) -> Dim:
        cursor = self.cursor
        if cursor.accept("?"):
            return UNKNOWN
        if cursor.accept("("):
            result = self.dim()
            cursor.expect(")")
            return result
        if cursor.token.kind is not TokenKind.NUMBER:
            return self._symbol()
        if not cursor.token.text.isdigit() or len(cursor.token.text) > 100:
            raise cursor.error("A dimension is a whole number of at most 100 digits.", cursor.token)
        return int(cursor.advance().text)
