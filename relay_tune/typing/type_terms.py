"""Types as terms: rebuilding, substituting, and collecting holes and symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from relay_tune.ir.dim import Dim, Polynomial, Symbol
from relay_tune.ir.dim_arithmetic import operand, substitute
from relay_tune.ir.types import (
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)


def parts(type_: Type) -> tuple[Type, ...]:
    """The types that a type is directly made of."""
    match type_:
        case TupleType():
            return type_.fields
        case FuncType():
            return (*type_.params, type_.result)
        case TypeCall():
            return (type_.function, *type_.arguments)
        case RefType():
            return (type_.value,)
        case _:
            return ()


def with_parts(type_: Type, new: tuple[Type, ...]) -> Type:
    """`type_` made of other parts; `type_` itself if they are the same objects."""
    if all(a is b for a, b in zip(parts(type_), new, strict=True)):
        return type_
    match type_:
        case TupleType():
            return TupleType(new)
        case FuncType():
            return FuncType(new[:-1], new[-1], type_.type_params)
        case TypeCall():
            return TypeCall(new[0], new[1:])
        case RefType():
            return RefType(new[0])
        case _:
            return type_


def map_leaves(type_: Type, change: Callable[[Type], Type]) -> Type:
    """`type_` with every tensor type, variable, hole and name replaced by what `change` gives."""
    inner = parts(type_)
    if not inner:
        return change(type_)
    return with_parts(type_, tuple(map_leaves(part, change) for part in inner))


def leaves(type_: Type) -> Iterator[Type]:
    """The tensor types, variables, holes and names in a type, left to right."""
    stack = [type_]
    while stack:
        current = stack.pop()
        inner = parts(current)
        if inner:
            stack.extend(reversed(inner))
        else:
            yield current


def is_larger(type_: Type, nodes: int, depth: int) -> bool:
    """Whether a type has more parts than `nodes`, or is nested deeper than `depth`.

    It looks at no more of the type than that: what a program makes of types may double in each
    step (`(A, A)`), and functions on types recurse as deep as they are nested.
    """
    pending = [(type_, 1)]
    seen = 0
    while pending:
        current, level = pending.pop()
        seen += 1
        if seen > nodes or level > depth:
            return True
        pending += [(part, level + 1) for part in parts(current)]
    return False


def holes(type_: Type) -> Iterator[IncompleteType]:
    """The holes in a type, left to right, with repetitions."""
    return (leaf for leaf in leaves(type_) if isinstance(leaf, IncompleteType))


def symbols(type_: Type) -> Iterator[Symbol]:
    """The symbols in the shapes of a type, with repetitions."""
    for leaf in leaves(type_):
        if isinstance(leaf, TensorType):
            for dim in leaf.shape:
                if not isinstance(dim, int):
                    yield from dim_symbols(dim)


def dim_symbols(dim: Dim) -> Iterator[Symbol]:
    """The symbols in a dimension, with repetitions."""
    if isinstance(dim, Symbol):
        yield dim
    elif isinstance(dim, Polynomial):
        for product, _ in dim.terms:
            for atom in product:
                yield from dim_symbols(atom if isinstance(atom, Symbol) else operand(atom))


def substitute_vars(type_: Type, mapping: Mapping[Type, Type]) -> Type:
    """`type_` with its free type variables replaced; those that it binds itself stay."""
    if not mapping:
        return type_
    inner = parts(type_)
    if not inner:
        return mapping.get(type_, type_) if isinstance(type_, TypeVar) else type_
    bound = type_.type_params if isinstance(type_, FuncType) else ()
    if any(var in mapping for var in bound):
        mapping = {var: new for var, new in mapping.items() if var not in bound}
    return with_parts(type_, tuple(substitute_vars(part, mapping) for part in inner))


def substitute_symbols(type_: Type, mapping: Mapping[str, Dim]) -> Type:
    """`type_` with symbols, by name, replaced in its shapes."""
    if not mapping:
        return type_

    def change(leaf: Type) -> Type:
        if not isinstance(leaf, TensorType):
            return leaf
        shape = substitute_shape(leaf.shape, mapping)
        return leaf if shape == leaf.shape else TensorType(shape, leaf.dtype)

    return map_leaves(type_, change)


def substitute_shape(shape: tuple[Dim, ...], mapping: Mapping[str, Dim]) -> tuple[Dim, ...]:
    """A shape with symbols, by name, replaced."""
    return tuple(dim if isinstance(dim, int) else substitute(dim, mapping) for dim in shape)
