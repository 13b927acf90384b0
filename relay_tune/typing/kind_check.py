"""Kinds: whether a type is put together from types of the right kind.

Tensors, tuples, functions and references are of kind Type; their parts must be of kind Type as
well. A data type is applied to as many arguments as it has parameters. What programs made in Python
can get wrong beside that, such as an element type that does not exist, is found here too.
"""

from __future__ import annotations

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.dim import Polynomial, Symbol, UnknownDim
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.module import Module
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    TensorType,
    Type,
    TypeCall,
    TypeVar,
)
from relay_tune.typing.type_terms import parts
from relay_tune.typing.type_text import type_text


def kind_of(type_: Type) -> Kind:
    """The kind of a type, by its outermost form."""
    match type_:
        case TypeVar() | GlobalTypeVar() | IncompleteType():
            return type_.kind
        case _:
            return Kind.TYPE


def check_kind(type_: Type, module: Module | None = None) -> Kind:
    """The kind of a type all of whose parts are of the right kind.

    Raises TypeInferenceError on a part that is no type or of a wrong kind, a tensor whose sizes or
    elements cannot be, a data type that the module does not define, and a wrong number of type
    arguments.
    """
    stack = [type_]
    while stack:
        current = stack.pop()
        if not isinstance(current, Type):
            raise _no_type(current)
        if isinstance(current, TensorType):
            _check_tensor(current)
            continue
        _check_parts(current, module)
        stack.extend(part for part in parts(current) if not _is_head(current, part))
    return kind_of(type_)


def require_value_type(type_: Type, module: Module | None = None) -> None:
    """Raise TypeInferenceError if no value can have this type: see `check_kind`."""
    kind = check_kind(type_, module)
    if not _is_value_type(type_):
        raise TypeInferenceError(
            f"{type_text(type_)} is of kind {kind.value}, but values have types of kind "
            f"{Kind.TYPE.value}.",
            remedy="Give the type parameter no kind, or use it in a shape.",
        )


def _check_tensor(type_: TensorType) -> None:
    """Check a tensor type of a program made in Python; the parser lets no such error pass."""
    if type_.dtype not in DTYPES:
        raise TypeInferenceError(
            f"There is no element type {type_.dtype!r}.",
            notes=(f"There are: {', '.join(DTYPES)}.",),
            remedy="Write one of these, as text.",
        )
    sizes = type_.shape if isinstance(type_.shape, tuple) else (type_.shape,)
    if sizes is not type_.shape or not all(_is_size(size) for size in sizes):
        raise TypeInferenceError(
            f"A tensor cannot have the shape {type_.shape!r}.",
            remedy="Write a tuple of Python's whole numbers, such as (1, 3), or symbols.",
        )


def _is_size(size: object) -> bool:
    match size:
        case bool():
            return False
        case int():
            return size >= 0
        case _:
            return isinstance(size, Symbol | Polynomial | UnknownDim)


def _no_type(value: object) -> TypeInferenceError:
    return TypeInferenceError(
        f"A value of type {type(value).__name__} stands where a type is needed.",
        remedy="Write types as TensorType((1, 3), 'float32'), TupleType(..) and so on.",
    )


def _check_parts(type_: Type, module: Module | None) -> None:
    match type_:
        case TypeCall():
            _check_application(type_, module)
        case GlobalTypeVar():
            _check_arity(type_, type_, 0, module)
        case FuncType():
            _require_type_params(type_)
    for part in parts(type_):
        if not _is_head(type_, part) and not _is_value_type(part):
            raise _wrong_kind(type_, part)


def _is_head(type_: Type, part: Type) -> bool:
    return isinstance(type_, TypeCall) and part is type_.function


def _is_value_type(type_: Type) -> bool:
    """Whether values have this type; a bare data type stands for its application to nothing."""
    return kind_of(type_) is Kind.TYPE or isinstance(type_, GlobalTypeVar)


def _check_application(call: TypeCall, module: Module | None) -> None:
    if not isinstance(call.function, GlobalTypeVar) or call.function.kind is not Kind.ADT_HANDLE:
        raise TypeInferenceError(
            f"{type_text(call.function)} in the type {type_text(call)} is not a data type."
        )
    _check_arity(call, call.function, len(call.arguments), module)


def _check_arity(type_: Type, head: GlobalTypeVar, count: int, module: Module | None) -> None:
    if module is None:
        return
    data = module.types.get(head.name)
    if data is None:
        known = ", ".join(module.types) or "none"
        raise TypeInferenceError(
            f"The data type {head.name} is not defined.", notes=(f"The module defines: {known}.",)
        )
    if len(data.type_params) != count:
        raise TypeInferenceError(
            f"{type_text(type_)} has {count} type argument(s), but {head.name} takes "
            f"{len(data.type_params)}.",
            remedy="Write one type for each type parameter of the data type.",
        )


def _require_type_params(function: FuncType) -> None:
    if len(set(function.type_params)) != len(function.type_params):
        raise TypeInferenceError(f"A type parameter of {type_text(function)} is bound twice.")


def _wrong_kind(type_: Type, part: Type) -> TypeInferenceError:
    return TypeInferenceError(
        f"{type_text(part)} in the type {type_text(type_)} is of kind {kind_of(part).value}, "
        f"but {Kind.TYPE.value} is needed here."
    )
