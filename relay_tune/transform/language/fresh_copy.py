"""Copies of expressions in which every bound variable is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from relay_tune.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    Let,
    Match,
    Var,
)
from relay_tune.ir.traversal import bound_vars, children, map_pattern_vars, post_order, rebuild
from relay_tune.ir.types import Type, TypeVar
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.typing.type_terms import substitute_vars

NOTHING: Mapping[Var, Expr] = {}
NO_TYPES: Mapping[Type, Type] = {}


def fresh_copy(
    root: Expr, values: Mapping[Var, Expr] = NOTHING, types: Mapping[Type, Type] = NO_TYPES
) -> Expr:
    """A copy with free variables and type variables replaced, and new ones where it binds.

    Parameters of functions are annotated with their types, other nodes have no types: they are to
    be inferred anew. Sharing is kept; fused functions are not copied.
    """
    nodes = list(post_order(root, enter=lambda node: not is_opaque_function(node)))
    names = Renaming(nodes, values, types)
    done: dict[Expr, Expr] = {}
    for node in nodes:
        below = () if is_opaque_function(node) else children(node)
        done[node] = names.copy(node, [done[child] for child in below])
    return done[root]


class Renaming:
    """What variables and type variables become in a copy."""

    def __init__(
        self, nodes: Iterable[Expr], values: Mapping[Var, Expr], types: Mapping[Type, Type]
    ) -> None:
        self._types = dict(types)
        self._values: dict[Var, Expr] = dict(values)
        self._variables: dict[Var, Var] = {}
        nodes = [node for node in nodes if not is_opaque_function(node)]
        for node in nodes:
            if isinstance(node, Function):
                self._types.update((v, TypeVar(v.name, v.kind)) for v in node.type_params)
        for node in nodes:
            annotated = isinstance(node, Function)
            for var in bound_vars(node):
                self._variables[var] = self._new(var, annotated)

    def copy(self, node: Expr, new: Sequence[Expr]) -> Expr:
        """The copy of a node, given the copies of its children."""
        match node:
            case Var():
                return self._values.get(node) or self._variables.get(node, node)
            case Function() if not node.is_primitive:
                return self._function(node, new[0])
            case Call():
                arguments = tuple(self.type(type_) for type_ in node.type_arguments)
                made = replace(node, type_arguments=arguments)
                return replace(rebuild(made, new), type=None)
            case Let():
                return Let(self._variables[node.var], new[0], new[1], span=node.span)
            case Match():
                clauses = tuple(
                    Clause(map_pattern_vars(clause.pattern, self._variables.__getitem__), body)
                    for clause, body in zip(node.clauses, new[1:], strict=True)
                )
                return Match(new[0], clauses, node.complete, span=node.span)
            case _:
                return replace(rebuild(node, new), type=None) if new else node

    def type(self, type_: Type) -> Type:
        """The copy of a type."""
        return substitute_vars(type_, self._types)

    def _new(self, var: Var, annotated: bool) -> Var:
        known = var.annotation or (var.type if annotated else None)
        return Var(var.name, None if known is None else self.type(known), span=var.span)

    def _function(self, function: Function, body: Expr) -> Function:
        result = function.result_type
        type_params = (self._types[var] for var in function.type_params)
        return replace(
            function,
            params=tuple(self._variables[param] for param in function.params),
            body=body,
            result_type=None if result is None else self.type(result),
            type_params=tuple(var for var in type_params if isinstance(var, TypeVar)),
            type=None,
        )
