"""The types of Relay.

    type ::= Tensor[(dim, ...), dtype] | (type, ...) | fn [vars](type, ...) -> type
           | ref(type) | variable | Name[type, ...] | _
    dim  ::= integer | symbol | polynomial of symbols | ?

Types are small trees; they are compared by structure (`==`), type variables by identity.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from enum import Enum

from relay_tune.ir.dim import Dim
from relay_tune.quick_dataclass import dataclass

Part = typing.TypeVar("Part")
Nested: typing.TypeAlias = Part | tuple["Nested[Part]", ...]
"""A value, or tuples of values in the form of a type."""


class Kind(Enum):
    """The kind of a type variable or of a global type."""

    TYPE = "Type"
    SHAPE = "Shape"
    BASE_TYPE = "BaseType"
    CONSTRAINT = "Constraint"
    ADT_HANDLE = "AdtHandle"
    TYPE_DATA = "TypeData"


class Type:
    """Base of all types."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """A dense row-major tensor; a rank-0 tensor is a scalar."""

    shape: tuple[Dim, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """A product of types; the empty one is the unit type."""

    fields: tuple[Type, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TypeVar(Type):
    """A type parameter of a function or of an algebraic data type; identity is equality."""

    name: str
    kind: Kind = Kind.TYPE


@dataclass(frozen=True, slots=True)
class GlobalTypeVar(Type):
    """The name of an algebraic data type of the module."""

    name: str
    kind: Kind = Kind.ADT_HANDLE


@dataclass(frozen=True, slots=True)
class FuncType(Type):
    """A function type, polymorphic in `type_params`."""

    params: tuple[Type, ...]
    result: Type
    type_params: tuple[TypeVar, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeCall(Type):
    """An algebraic data type applied to arguments: `List[int32]`."""

    function: Type
    arguments: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class RefType(Type):
    """A mutable cell that holds a value of type `value`."""

    value: Type


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteType(Type):
    """A hole that inference fills; written `_`; identity is equality."""

    kind: Kind = Kind.TYPE


UNIT = TupleType(())
BOOL = TensorType((), "bool")


def scalar_type(dtype: str) -> TensorType:
    """The type of a rank-0 tensor."""
    return TensorType((), dtype)


def unflatten(type_: Type | None, parts: Iterator[Part]) -> Nested[Part]:
    """The value of a type whose parts, those that are no tuples, are the next ones."""
    if isinstance(type_, TupleType):
        return tuple(unflatten(field, parts) for field in type_.fields)
    return next(parts)
