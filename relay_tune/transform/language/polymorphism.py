"""Types with type parameters, and the instances at which they are used."""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.errors import BuildError
from relay_tune.ir.module import Module
from relay_tune.ir.types import UNIT, FuncType, TupleType, Type, TypeVar
from relay_tune.typing.type_terms import parts, substitute_vars


def is_polymorphic(type_: Type | None) -> bool:
    """Whether a type is that of a polymorphic function, of one that returns such a function, or of
    a tuple with one in it."""
    match type_:
        case FuncType():
            return bool(type_.type_params) or is_polymorphic(type_.result)
        case TupleType():
            return any(map(is_polymorphic, type_.fields))
        case _:
            return False


def instance(function: FuncType, arguments: tuple[Type, ...]) -> FuncType:
    """The type of a polymorphic function where its parameters stand for `arguments`."""
    mapping: dict[Type, Type] = dict(zip(function.type_params, arguments, strict=True))
    body = substitute_vars(FuncType(function.params, function.result), mapping)
    return body if isinstance(body, FuncType) else function


def contains_function(type_: Type) -> bool:
    """Whether a function is written anywhere in a type."""
    return isinstance(type_, FuncType) or any(map(contains_function, parts(type_)))


def refuse_data_with_functions(module: Module, form: str) -> None:
    """Raise BuildError where a data type holds functions, since its definition would change."""
    for data in module.types.values():
        for constructor in data.constructors:
            if any(map(contains_function, constructor.inputs)):
                raise BuildError(
                    f"Values of {data.header.name} hold functions (constructor "
                    f"{constructor.name}), so the program has no {form}.",
                    remedy="Make the type of what it holds a parameter of the data type.",
                )


def with_unit_defaults(type_: Type) -> Type:
    """A type without type parameters; undecided ones default to the unit type."""
    match type_:
        case FuncType():
            body = instance(type_, (UNIT,) * len(type_.type_params))
            return FuncType(body.params, with_unit_defaults(body.result))
        case TupleType():
            return TupleType(tuple(map(with_unit_defaults, type_.fields)))
        case _:
            return type_


def type_arguments(function: FuncType, used_as: FuncType) -> tuple[Type, ...]:
    """What the type parameters stand for where the function is used at type `used_as`.

    A parameter that does not occur in the type may stand for anything: the unit type is taken.
    """
    found: dict[Type, Type] = {}
    for variable, type_ in _correspondences(function, used_as):
        found.setdefault(variable, type_)
    return tuple(found.get(variable, UNIT) for variable in function.type_params)


def _correspondences(pattern: Type, type_: Type) -> Iterator[tuple[TypeVar, Type]]:
    """The type variables in a type, with their counterparts in another one."""
    stack = [(pattern, type_)]
    while stack:
        left, right = stack.pop()
        if isinstance(left, TypeVar):
            yield left, right
        else:
            stack.extend(reversed(list(zip(parts(left), parts(right), strict=False))))
