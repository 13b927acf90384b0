"""Kinds of values at run time: scalars in registers, and pointers to counted objects.

A value of tuple type is the values of its components, left to right; the unit value is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from relay_tune.errors import FIX_SIZES, NoNativeCodeError
from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.ir.types import FuncType, RefType, TensorType, TupleType, Type, TypeCall
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_terms import parts, with_parts
from relay_tune.typing.type_text import type_text

MAXIMUM_OPEN_RANK = 6
"""As many sizes have room in the header of a tensor object."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Base of the kinds of values."""


@dataclass(frozen=True, slots=True)
class ScalarKind(Kind):
    """A rank-0 tensor: a number in a register."""

    dtype: str


@dataclass(frozen=True, slots=True)
class TensorKind(Kind):
    """A pointer to a tensor object of positive rank."""

    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, where all are known."""
        return tuple(dim for dim in self.type.shape if isinstance(dim, int))

    @property
    def is_open(self) -> bool:
        """Whether some extents are known at run time only; the object has them."""
        return is_open_type(self.type)


@dataclass(frozen=True, slots=True)
class ObjectKind(Kind):
    """A pointer to a value of a data type, a closure or a cell."""

    type: Type


def is_open_type(type_: Type) -> bool:
    """Whether a type is a tensor some of whose sizes are known at run time only."""
    return isinstance(type_, TensorType) and not all(isinstance(d, int) for d in type_.shape)


def component_types(type_: Type) -> Iterator[Type]:
    """The types of the components of a value: `type_` itself unless it is a tuple."""
    pending = [type_]
    while pending:
        current = pending.pop()
        if isinstance(current, TupleType):
            pending.extend(reversed(current.fields))
        else:
            yield current


def tensors_of(type_: Type) -> Iterator[TensorType]:
    """The tensors in the type of an input or a result of a primitive, in order."""
    for part in component_types(type_):
        assert isinstance(part, TensorType)  # a primitive takes and gives nothing else
        yield part


def kinds_of(type_: Type) -> tuple[Kind, ...]:
    """The kinds of the components of a value; NoNativeCodeError where there are none."""
    return tuple(_kind(component) for component in component_types(type_))


def function_kinds(type_: Type) -> tuple[Kind, ...]:
    """The kinds of the components of a function's parameters."""
    params = type_.params if isinstance(type_, FuncType) else ()
    return tuple(kind for param in params for kind in kinds_of(param))


@lru_cache(maxsize=4096)
def canonical(type_: Type) -> Type:
    """The type in the form by which types are told apart: `Shape[]` is `Shape`."""
    if isinstance(type_, TypeCall) and not type_.arguments:
        return type_.function
    return with_parts(type_, tuple(canonical(part) for part in parts(type_)))


def type_of(node: Expr) -> Type:
    """The type of a node of a typed program."""
    if node.type is not None:
        return canonical(node.type)
    if isinstance(node, Var) and node.annotation is not None:
        return canonical(node.annotation)
    raise NoNativeCodeError("A part of the program has no type; was it typed?", where=node.span)


def function_type(function: Function) -> FuncType:
    """The type of a typed function."""
    type_ = type_of(function)
    if isinstance(type_, FuncType):
        return type_
    raise NoNativeCodeError(f"A function has the type {type_text(type_)}.", where=function.span)


def is_counted(kind: Kind) -> bool:
    """Whether values of a kind are pointers to counted objects."""
    return not isinstance(kind, ScalarKind)


def _kind(type_: Type) -> Kind:
    match type_:
        case TensorType(shape=()):
            return ScalarKind(type_.dtype)
        case TensorType() if len(type_.shape) > MAXIMUM_OPEN_RANK and is_open_type(type_):
            raise NoNativeCodeError(
                f"A tensor of type {type_text(type_)} has a shape that is known at run time only; "
                f"such tensors have at most {MAXIMUM_OPEN_RANK} dimensions.",
                remedy=FIX_SIZES,
            )
        case TensorType():
            return TensorKind(type_)
        case FuncType() | RefType():
            return ObjectKind(type_)
        case _:
            return ObjectKind(type_)
