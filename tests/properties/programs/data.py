"""Patterns that cover a type, and values of data types."""

from __future__ import annotations

from random import Random

from relay_tune.ir.expr import (
    Constructor,
    ConstructorPattern,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
)
from relay_tune.ir.module import Module
from relay_tune.ir.types import GlobalTypeVar, TupleType, Type, TypeCall
from relay_tune.typing.type_terms import substitute_vars

Case = tuple[Pattern, tuple[tuple[Var, Type], ...]]
"""A pattern, and the variables that it binds with their types."""


def constructors_of(library: Module, type_: Type) -> list[tuple[Constructor, tuple[Type, ...]]]:
    """The constructors of an instance of a data type, with the types of their fields."""
    if not isinstance(type_, TypeCall) or not isinstance(type_.function, GlobalTypeVar):
        return []
    data = library.types[type_.function.name]
    mapping: dict[Type, Type] = dict(zip(data.type_params, type_.arguments, strict=True))
    return [
        (constructor, tuple(substitute_vars(field, mapping) for field in constructor.inputs))
        for constructor in data.constructors
    ]


def covering_cases(rng: Random, library: Module, type_: Type, depth: int = 2) -> list[Case]:
    """Cases that cover all values of a type; the last ones may be taken together."""
    cases = _cases(rng, library, type_, depth)
    if len(cases) > 1 and (len(cases) > 5 or rng.random() < 0.3):
        kept = rng.randint(1, min(len(cases) - 1, 4))
        return [*rng.sample(cases, kept), _irrefutable(rng, type_)]
    rng.shuffle(cases)
    return cases


def _cases(rng: Random, library: Module, type_: Type, depth: int) -> list[Case]:
    if depth == 0:
        return [_irrefutable(rng, type_)]
    if isinstance(type_, TupleType) and type_.fields:
        return [
            (TuplePattern(patterns), bound)
            for patterns, bound in _field_cases(rng, library, type_.fields, depth)
        ]
    cases: list[Case] = [
        (ConstructorPattern(constructor, patterns), bound)
        for constructor, fields in constructors_of(library, type_)
        for patterns, bound in _field_cases(rng, library, fields, depth - 1)
    ]
    return cases or [_irrefutable(rng, type_)]


def _field_cases(
    rng: Random, library: Module, fields: tuple[Type, ...], depth: int
) -> list[tuple[tuple[Pattern, ...], tuple[tuple[Var, Type], ...]]]:
    """One field taken apart, the others bound."""
    opened = rng.randrange(len(fields)) if fields else 0
    inner = _cases(rng, library, fields[opened], rng.randint(0, depth)) if fields else [None]
    found = []
    for case in inner:
        parts = [
            case if index == opened and case is not None else _irrefutable(rng, field)
            for index, field in enumerate(fields)
        ]
        found.append((tuple(part[0] for part in parts), sum((part[1] for part in parts), ())))
    return found


def _irrefutable(rng: Random, type_: Type) -> Case:
    if rng.random() < 0.2:
        return WildcardPattern(), ()
    var = Var(rng.choice("uvw"), type_ if rng.random() < 0.3 else None)
    return VarPattern(var), ((var, type_),)
