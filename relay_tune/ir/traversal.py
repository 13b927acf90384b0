"""Walking and rewriting expression graphs: linear, sharing kept, no recursion along data flow.

children(e)              the direct sub-expressions of a node
post_order(e)            every node once, children first
rebuild(e, children)     the node with other children (the same node if nothing changed)
rewrite(e, visit)        bottom up: every node is rebuilt from its rewritten children, then
                         given to `visit`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constant,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TuplePattern,
    Var,
    VarPattern,
)
from relay_tune.ir.provenance import made_by

_CHILDREN: Mapping[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Call: lambda e: (e.callee, *e.arguments),
    Tuple: attrgetter("fields"),
    TupleGetItem: lambda e: (e.tuple_value,),
    Function: lambda e: (e.body,),
    Let: attrgetter("value", "body"),
    If: attrgetter("condition", "true_branch", "false_branch"),
    RefCreate: lambda e: (e.value,),
    RefRead: lambda e: (e.ref,),
    RefWrite: attrgetter("ref", "value"),
    Match: lambda e: (e.value, *(clause.body for clause in e.clauses)),
}
"""How to get the children of a node, for each kind that has any."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in evaluation order; bound variables are not among them."""
    get = _CHILDREN.get(type(expr))
    return () if get is None else get(expr)


def rebuild(expr: Expr, new: Sequence[Expr]) -> Expr:
    """`expr` with its children replaced by `new`; `expr` itself if all are the same objects."""
    old, parts = children(expr), tuple(new)
    if len(old) != len(parts):
        raise ValueError(f"{expr} has {len(old)} children, not {len(parts)}.")
    if old == parts:  # nodes are equal only to themselves
        return expr
    return _with_children(expr, parts)


def _with_children(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    type_, span = expr.type, expr.span
    match expr:  # the most frequent kinds are written out: `replace` takes twice as long
        case Call():
            about = expr.attributes, expr.type_arguments
            return Call(parts[0], parts[1:], *about, type=type_, span=span)
        case Tuple():
            return Tuple(parts, type=type_, span=span)
        case TupleGetItem():
            return TupleGetItem(parts[0], expr.index, type=type_, span=span)
        case Let():
            return Let(expr.var, parts[0], parts[1], type=type_, span=span)
        case Function():
            return replace(expr, body=parts[0])
        case If():
            return replace(expr, condition=parts[0], true_branch=parts[1], false_branch=parts[2])
        case RefCreate():
            return replace(expr, value=parts[0])
        case RefRead():
            return replace(expr, ref=parts[0])
        case RefWrite():
            return replace(expr, ref=parts[0], value=parts[1])
        case Match():
            clauses = tuple(
                Clause(clause.pattern, body)
                for clause, body in zip(expr.clauses, parts[1:], strict=True)
            )
            return replace(expr, value=parts[0], clauses=clauses)
        case _:
            return expr


def post_order(
    *roots: Expr,
    enter: Callable[[Expr], bool] | None = None,
    below: Callable[[Expr], Sequence[Expr]] | None = None,
) -> Iterator[Expr]:
    """Every node reachable from `roots` once, children before parents.

    Where `enter(node)` is false, the node is given but its children are not visited for its sake.
    `below(node)` gives what counts as the children of a node, by default `children`.
    """
    kinds: Callable[[type[Expr]], Callable[[Any], Sequence[Expr]] | None]
    kinds = _CHILDREN.get if below is None else lambda _: below
    seen: set[Expr] = set()
    stack: list[Expr | None] = list(reversed(roots))
    pop = stack.pop
    while stack:
        node = pop()
        if node is None:  # the children of the node below were visited
            done = pop()
            assert done is not None
            yield done
        elif node not in seen:
            seen.add(node)
            get = kinds(type(node))
            if get is None or not (enter is None or enter(node)) or not (inner := get(node)):
                yield node
            else:
                stack += (node, None)
                stack += inner[::-1]


def rewrite(
    root: Expr, visit: Callable[[Expr], Expr], *, enter: Callable[[Expr], bool] | None = None
) -> Expr:
    """Rewrite bottom up: `visit` sees each node once, already rebuilt from rewritten children.

    `visit` returns the node itself or its replacement; shared nodes stay shared.
    """
    done: dict[Expr, Expr] = {}
    for node, rebuilt in _rebuilt(root, done, enter):
        done[node] = made_by(node.span, visit, rebuilt)
    return done[root]


def rewrite_with_original(
    root: Expr,
    visit: Callable[[Expr, Expr], Expr],
    *,
    enter: Callable[[Expr], bool] | None = None,
) -> Expr:
    """Like `rewrite`, but `visit(original, rebuilt)` also sees the node as it was (its type).

    Nodes that `visit` makes inherit the span of the node.
    """
    done: dict[Expr, Expr] = {}
    for node, rebuilt in _rebuilt(root, done, enter):
        done[node] = made_by(node.span, visit, node, rebuilt)
    return done[root]


def _rebuilt(
    root: Expr, done: Mapping[Expr, Expr], enter: Callable[[Expr], bool] | None
) -> Iterator[tuple[Expr, Expr]]:
    """Every node in post order, and the same over what `done` has for its children by then."""
    seen: set[Expr] = set()
    stack: list[Any] = [root]  # nodes; behind one and its children None, once these are to come
    pop, kinds, new = stack.pop, _CHILDREN.get, done.__getitem__
    while stack:
        node = pop()
        if node is None:  # the children of the node below were visited
            old = pop()
            node = pop()
            parts = tuple(map(new, old))
            yield node, node if parts == old else _with_children(node, parts)
        elif node not in seen:
            seen.add(node)
            get = kinds(type(node))
            if get is None or not (enter is None or enter(node)):
                yield node, node
            else:
                inner = get(node)
                stack += (node, inner, None)
                stack += inner[::-1]


def pattern_vars(pattern: Pattern) -> Iterator[Var]:
    """The variables that a pattern binds, left to right."""
    match pattern:
        case VarPattern():
            yield pattern.var
        case ConstructorPattern() | TuplePattern():
            for part in pattern.patterns:
                yield from pattern_vars(part)


def map_pattern_vars(pattern: Pattern, change: Callable[[Var], Var]) -> Pattern:
    """The pattern with every variable that it binds replaced, left to right."""
    match pattern:
        case VarPattern():
            return VarPattern(change(pattern.var))
        case ConstructorPattern():
            parts = tuple(map_pattern_vars(part, change) for part in pattern.patterns)
            return ConstructorPattern(pattern.constructor, parts)
        case TuplePattern():
            return TuplePattern(tuple(map_pattern_vars(part, change) for part in pattern.patterns))
        case _:
            return pattern


def bound_vars(expr: Expr) -> tuple[Var, ...]:
    """The variables that this very node binds."""
    match expr:
        case Function():
            return expr.params
        case Let():
            return (expr.var,)
        case Match():
            return tuple(v for clause in expr.clauses for v in pattern_vars(clause.pattern))
        case _:
            return ()


def free_vars(root: Expr) -> tuple[Var, ...]:
    """The variables used but not bound in `root`, in order of first use.

    Every variable is bound at most once in a well-formed program, so scopes need no stack.
    """
    bound: set[Var] = set()
    used: dict[Var, None] = {}
    for node in post_order(root):
        bound.update(bound_vars(node))
        if isinstance(node, Var):
            used[node] = None
    return tuple(var for var in used if var not in bound)


def use_counts(root: Expr) -> dict[Expr, int]:
    """How many edges lead to each node reachable from `root` (the root itself has at least 1)."""
    counts: dict[Expr, int] = {root: 1}
    for node in post_order(root):
        for child in children(node):
            counts[child] = counts.get(child, 0) + 1
    return counts


def is_leaf(expr: Expr) -> bool:
    """Whether an expression has no sub-expression and costs nothing to repeat."""
    return isinstance(expr, Var | GlobalVar | Constant) or not children(expr)
