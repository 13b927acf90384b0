"""Python annotations as types of Relay.

"Tensor[(n, 4), float32]"         a string: any type, as Relay text writes it
Tensor[(1, 4), "float32"]         rt.Tensor
float, int, bool                  float32, int32 and bool scalars
tuple[A, B], list[A]              a tuple, a List of the prelude
Callable[[A, B], C]               a function
Tree[A], nat                      data types, by their names
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from relay_tune.errors import RelayError
from relay_tune.frontend.python.environment import Environment
from relay_tune.frontend.python.source import PythonSource
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse_type
from relay_tune.ir.types import (
    UNIT,
    FuncType,
    GlobalTypeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar_type,
)

_SCALARS = {float: "float32", int: "int32", bool: "bool"}


class Tensor:
    """`Tensor[shape, dtype]` in annotations: a tensor type with sizes that are numbers.

    >>> Tensor[(2, 3), "float32"]
    TensorType(shape=(2, 3), dtype='float32')
    """

    def __class_getitem__(cls, parts: tuple[Sequence[int], str]) -> TensorType:
        shape, dtype = parts
        return TensorType(tuple(shape), dtype)


class TypeReader:
    """Reads annotations of one function."""

    def __init__(self, source: PythonSource, environment: Environment, base: Module) -> None:
        self._source = source
        self._environment = environment
        self._base = base
        self._defined = {name: data.header for name, data in base.types.items()}
        self._variables: dict[str, TypeVar] = {}

    def declare(self, name: str) -> TypeVar:
        """A type parameter of the function."""
        self._variables[name] = TypeVar(name)
        return self._variables[name]

    def declared(self, annotation: ast.expr | None, evaluated: object = None) -> Type | None:
        """The type that an annotation means, None without one; raises ParseError.

        `evaluated` is what Python made of it: an object may have a name that is not seen inside.
        """
        if isinstance(evaluated, Type):
            return evaluated
        is_formatted = isinstance(evaluated, str) and not is_f_string(evaluated)
        if isinstance(annotation, ast.JoinedStr) and is_formatted:
            return self._parsed(str(evaluated), annotation)
        return None if annotation is None else self.type(annotation)

    def type(self, node: ast.expr) -> Type:
        """The type that an annotation means; raises ParseError."""
        match node:
            case ast.Constant(None):
                return UNIT
            case ast.Constant(str(text)):
                return self._parsed(text, node)
            case ast.JoinedStr():
                return self._parsed(self._formatted(node), node)
            case ast.Subscript():
                return self._applied(node)
            case ast.Name(name) if name in self._variables:
                return self._variables[name]
        return self._of_object(self._object(node), node)

    def _applied(self, node: ast.Subscript) -> Type:
        head = self._object(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head is Tensor:
            return self._tensor(inner, node)
        if head is tuple:
            return TupleType(tuple(self.type(part) for part in inner))
        if head is list:
            return TypeCall(GlobalTypeVar("List"), tuple(self.type(part) for part in inner))
        if isinstance(head, GlobalTypeVar):
            return TypeCall(head, tuple(self.type(part) for part in inner))
        if getattr(head, "__name__", getattr(head, "_name", "")) == "Callable" and len(inner) == 2:
            params, result = inner
            if isinstance(params, ast.List):
                return FuncType(tuple(self.type(part) for part in params.elts), self.type(result))
        raise self._no_type(node)

    def _tensor(self, parts: Sequence[ast.expr], node: ast.expr) -> Type:
        try:
            shape, dtype = (ast.literal_eval(part) for part in parts)
        except ValueError as error:
            raise self._source.error(
                node,
                "The shape and the element type of a tensor must be written as literals.",
                remedy='For sizes with names, write a string: "Tensor[(n, 4), float32]".',
            ) from error
        return self._parsed(f"Tensor[({', '.join(map(str, shape))}), {dtype}]", node)

    def _formatted(self, node: ast.JoinedStr) -> str:
        """Text of an f-string, with the objects that the function sees."""
        known = {}
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                found = self._environment.find(part.id)
                if found is None:
                    raise self._no_type(part)
                known[part.id] = found.value
        code = compile(ast.Expression(node), self._source.file, "eval")
        try:
            return str(eval(code, {}, known))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._source.error(node, f"This f-string cannot be evaluated: {error}") from error

    def _object(self, node: ast.expr) -> object:
        """The Python object, or the name of a data type, that an annotation mentions."""
        match node:
            case ast.Name(name):
                found = self._environment.find(name)
                if found is not None:
                    return found.value
                if name in self._defined:
                    return self._defined[name]
            case ast.Attribute(value, name):
                return getattr(self._object(value), name, None)
        raise self._no_type(node)

    def _of_object(self, found: object, node: ast.expr) -> Type:
        if isinstance(found, Type):
            return found
        if isinstance(found, str):
            return self._parsed(found, node)
        dtype = _SCALARS.get(found) if isinstance(found, type) else None
        if dtype is None:
            raise self._no_type(node)
        return scalar_type(dtype)

    def _parsed(self, text: str, node: ast.expr) -> Type:
        try:
            return parse_type(text, self._base, self._variables)
        except RelayError as error:
            raise self._source.error(
                node,
                f"This type cannot be read: {error.message}",
                label=error.label,
                remedy=error.remedy,
            ) from error

    def _no_type(self, node: ast.expr) -> RelayError:
        return self._source.error(
            node,
            "This annotation is no type of Relay.",
            remedy='Write a string such as "Tensor[(1, 4), float32]", or float, int, bool, '
            "tuple[..], list[..], Callable[[..], ..], or the name of a data type.",
        )


def is_f_string(annotation: str) -> bool:
    """Whether this is an f-string as it is written, which Python has not evaluated."""
    return annotation.startswith(("f'", 'f"'))
