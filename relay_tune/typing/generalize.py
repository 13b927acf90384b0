"""Let-polymorphism: the holes that nothing else constrains become type parameters.

The rule is that of L. Damas and R. Milner, "Principal type-schemes for functional programs", 1982,
for function values only, so that mutable references stay sound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count
from string import ascii_lowercase

from relay_tune.ir.expr import Function
from relay_tune.ir.types import FuncType, IncompleteType, Type, TypeVar
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_terms import holes, leaves


def generalize(state: InferenceState, functions: Sequence[Function]) -> None:
    """Give functions, the whole of a recursive group that was just left, their most general types.

    New type parameters are remembered in the state; functions of one group share them.
    """
    found = [state.solver.resolve(state.types[function]) for function in functions]
    open_holes = {hole: None for type_ in found for hole in _open_holes(state, type_)}
    if not open_holes:
        return
    used = {leaf.name for type_ in found for leaf in leaves(type_) if isinstance(leaf, TypeVar)}
    constrained = _constrained(state)
    free = [hole for hole in open_holes if hole not in constrained]
    for hole, name in zip(free, _fresh_names(used), strict=False):
        state.solver.bind(hole, TypeVar(name))
    for function, type_ in zip(functions, found, strict=True):
        if isinstance(type_, FuncType):
            _add_type_params(
                state, function, type_, [hole for hole in holes(type_) if hole in free]
            )


def _open_holes(state: InferenceState, type_: Type) -> list[IncompleteType]:
    if state.solver.is_known(type_):
        return []
    return [hole for hole in holes(type_) if state.solver.is_generalisable(hole)]


def _add_type_params(
    state: InferenceState, function: Function, type_: FuncType, free: list[IncompleteType]
) -> None:
    resolved = (state.solver.resolve(hole) for hole in dict.fromkeys(free))
    added = tuple(var for var in resolved if isinstance(var, TypeVar))
    if not added:
        return
    state.added_type_params[function] = added
    params = tuple(state.solver.resolve(param) for param in type_.params)
    result = state.solver.resolve(type_.result)
    state.types[function] = FuncType(params, result, (*type_.type_params, *added))


def _constrained(state: InferenceState) -> set[IncompleteType]:
    """The holes that a waiting relation reads or writes."""
    return {
        hole
        for relation in state.solver.unsolved()
        for type_ in (*relation.inputs, relation.output)
        for hole in holes(state.solver.resolve(type_))
    }


def _fresh_names(used: set[str]) -> Iterator[str]:
    """a, b, ... z, a1, b1, ..., without the names that are used."""
    for suffix in chain([""], map(str, count(1))):
        yield from (letter + suffix for letter in ascii_lowercase if letter + suffix not in used)
