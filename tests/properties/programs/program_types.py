"""The types of random programs: a few small tensors, and everything made of them."""

from __future__ import annotations

from random import Random

from relay_tune.ir.types import (
    BOOL,
    FuncType,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar_type,
)
from relay_tune.typing.type_terms import parts

FLOAT = scalar_type("float32")
INT = scalar_type("int32")
SHAPES = ((2,), (3,), (2, 3), (3, 2), (2, 2), (1, 3))
TENSORS = (FLOAT, INT, BOOL, *(TensorType(shape, "float32") for shape in SHAPES))
COMMON = (*[FLOAT] * 6, *[INT] * 4, *[TensorType((2, 3), "float32")] * 3, *TENSORS)
SHAPE = GlobalTypeVar("Shape")


def data_type(name: str, *arguments: Type) -> Type:
    """`name[arguments]`."""
    return TypeCall(GlobalTypeVar(name), arguments)


def random_type(rng: Random, variables: tuple[TypeVar, ...], depth: int = 2) -> Type:
    """A type without references; `variables` are the type parameters in scope."""
    choice = rng.random()
    if depth == 0 or choice < 0.5:
        return rng.choice((*COMMON, *variables * 6))
    if choice < 0.68:
        count = rng.choice((1, 2, 2, 3))
        return TupleType(tuple(random_type(rng, variables, depth - 1) for _ in range(count)))
    if choice < 0.8:
        params = tuple(random_type(rng, variables, 0) for _ in range(rng.choice((0, 1, 1, 2))))
        return FuncType(params, random_type(rng, variables, depth - 1))
    if choice < 0.84:
        return TypeCall(SHAPE, ())
    name = rng.choice(("List", "List", "Option", "Tree"))
    return data_type(name, random_type(rng, variables, rng.choice((0, depth - 1))))


def random_data(rng: Random, depth: int = 2) -> Type:
    """A type of tensors and tuples of them."""
    if depth == 0 or rng.random() < 0.7:
        return rng.choice(COMMON)
    return TupleType(tuple(random_data(rng, depth - 1) for _ in range(rng.choice((0, 1, 2, 3)))))


def is_data(type_: Type) -> bool:
    """Whether a type is made of tensors and tuples only."""
    if isinstance(type_, TupleType):
        return all(map(is_data, type_.fields))
    return isinstance(type_, TensorType)


def contains_function(type_: Type) -> bool:
    """Whether values of this type may hold closures, or values of an unknown type."""
    return isinstance(type_, FuncType | TypeVar) or any(map(contains_function, parts(type_)))


def contains_reference(type_: Type) -> bool:
    """Whether values of this type may hold cells."""
    return isinstance(type_, RefType) or any(map(contains_reference, parts(type_)))


def instance_of(
    pattern: Type, wanted: Type, variables: tuple[TypeVar, ...]
) -> dict[Type, Type] | None:
    """What `variables` stand for, so that `pattern` is `wanted`; None if it never is."""
    found: dict[Type, Type] = {}
    return found if _matches(pattern, wanted, variables, found) else None


def _matches(
    pattern: Type, wanted: Type, variables: tuple[TypeVar, ...], found: dict[Type, Type]
) -> bool:
    if isinstance(pattern, TypeVar) and pattern in variables:
        return found.setdefault(pattern, wanted) == wanted
    inner, others = parts(pattern), parts(wanted)
    if not inner or type(pattern) is not type(wanted):
        return pattern == wanted
    return len(inner) == len(others) and all(
        _matches(a, b, variables, found) for a, b in zip(inner, others, strict=True)
    )
