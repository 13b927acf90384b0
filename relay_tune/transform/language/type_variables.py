"""The type parameters that an expression uses without binding them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.ir.expr import Call, Expr, Function, Var
from relay_tune.ir.traversal import bound_vars, post_order
from relay_tune.ir.types import FuncType, Type, TypeVar
from relay_tune.typing.type_terms import parts


def free_type_variables(root: Expr, variables: Sequence[Var] = ()) -> tuple[TypeVar, ...]:
    """The type variables free in a typed expression and in the types of `variables`."""
    found: dict[TypeVar, None] = {}
    bound: set[TypeVar] = set()
    for var in variables:
        found.update(dict.fromkeys(_variables_of(var)))
    for node in post_order(root):
        if isinstance(node, Function):
            bound.update(node.type_params)
        for type_ in _types_written_at(node):
            found.update(dict.fromkeys(type_variables(type_)))
    return tuple(var for var in found if var not in bound)


def type_variables(type_: Type) -> Iterator[TypeVar]:
    """The type variables that are free in a type, left to right, with repetitions."""
    if isinstance(type_, TypeVar):
        yield type_
    bound = type_.type_params if isinstance(type_, FuncType) else ()
    for part in parts(type_):
        yield from (var for var in type_variables(part) if var not in bound)


def _types_written_at(node: Expr) -> Iterator[Type]:
    if isinstance(node, Call):
        yield from node.type_arguments
    if isinstance(node, Function) and node.result_type is not None:
        yield node.result_type
    for var in bound_vars(node):
        if var.annotation is not None:
            yield var.annotation
        elif isinstance(node, Function) and var.type is not None:
            yield var.type


def _variables_of(var: Var) -> Iterator[TypeVar]:
    known = var.annotation or var.type
    if known is not None:
        yield from type_variables(known)
