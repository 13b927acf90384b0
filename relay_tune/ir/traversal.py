"""Walking and rewriting expression graphs: linear, sharing kept, no recursion along data flow.

children(e)              the direct sub-expressions of a node
post_order(e)            every node once, children first
rebuild(e, children)     the node with other children (the same node if nothing changed)
rewrite(e, visit)        bottom up: every node is rebuilt from its rewritten children, then
                         given to `visit`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

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
from relay_tune.ir.provenance import made_for


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in evaluation order; bound variables are not among them."""
    match expr:
        case Call():
            return (expr.callee, *expr.arguments)
        case Tuple():
            return expr.fields
        case TupleGetItem():
            return (expr.tuple_value,)
        case Function():
            return (expr.body,)
        case Let():
            return (expr.value, expr.body)
        case If():
            return (expr.condition, expr.true_branch, expr.false_branch)
        case RefCreate():
            return (expr.value,)
        case RefRead():
            return (expr.ref,)
        case RefWrite():
            return (expr.ref, expr.value)
        case Match():
            return (expr.value, *(clause.body for clause in expr.clauses))
        case _:
            return ()


def rebuild(expr: Expr, new: Sequence[Expr]) -> Expr:
    """`expr` with its children replaced by `new`; `expr` itself if all are the same objects."""
    if all(a is b for a, b in zip(children(expr), new, strict=True)):
        return expr
    match expr:
        case Call():
            return replace(expr, callee=new[0], arguments=tuple(new[1:]))
        case Tuple():
            return replace(expr, fields=tuple(new))
        case TupleGetItem():
            return replace(expr, tuple_value=new[0])
        case Function():
            return replace(expr, body=new[0])
        case Let():
            return replace(expr, value=new[0], body=new[1])
        case If():
            return replace(expr, condition=new[0], true_branch=new[1], false_branch=new[2])
        case RefCreate():
            return replace(expr, value=new[0])
        case RefRead():
            return replace(expr, ref=new[0])
        case RefWrite():
            return replace(expr, ref=new[0], value=new[1])
        case Match():
            clauses = tuple(
                Clause(clause.pattern, body)
                for clause, body in zip(expr.clauses, new[1:], strict=True)
            )
            return replace(expr, value=new[0], clauses=clauses)
        case _:
            return expr


def post_order(
    *roots: Expr,
    enter: Callable[[Expr], bool] | None = None,
    below: Callable[[Expr], Sequence[Expr]] = children,
) -> Iterator[Expr]:
    """Every node reachable from `roots` once, children before parents.

    Where `enter(node)` is false, the node is given but its children are not visited for its sake.
    `below(node)` gives what counts as the children of a node.
    """
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        if enter is None or enter(node):
            stack.extend((child, False) for child in reversed(below(node)) if child not in seen)


def rewrite(
    root: Expr, visit: Callable[[Expr], Expr], *, enter: Callable[[Expr], bool] | None = None
) -> Expr:
    """Rewrite bottom up: `visit` sees each node once, already rebuilt from rewritten children.

    `visit` returns the node itself or its replacement; shared nodes stay shared.
    """
    return rewrite_with_original(root, lambda _, node: visit(node), enter=enter)


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
    for node in post_order(root, enter=enter):
        if enter is None or enter(node):
            rebuilt = rebuild(node, [done[child] for child in children(node)])
        else:
            rebuilt = node
        with made_for(node.span):
            done[node] = visit(node, rebuilt)
    return done[root]


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
