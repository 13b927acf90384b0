"""Where shared nodes are computed: in the innermost branch that contains all their uses.

before: if (%c) { add(%0, %0) } else { negative(%0) }      %0 = exp(%x)
after:  %0 is computed before the condition is decided; it is *hoisted* to the `if`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relay_tune.ir.expr import Constant, Constructor, Expr, Function, GlobalVar, If, Match, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, post_order
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class _Scope:
    """A branch: of a condition or match (`owner`), inside of another one."""

    parent: _Scope | None
    owner: Expr | None
    depth: int


def hoisted_nodes(body: Expr) -> Mapping[Expr, tuple[Expr, ...]]:
    """For conditions and matches of a function's body: the nodes to be computed before they branch.

    The nodes stand in order of evaluation. Nested functions are not looked into.
    """
    nodes = list(post_order(body, enter=lambda node: not isinstance(node, Function)))
    scopes = {body: _Scope(None, None, 0)}
    uses: list[tuple[Expr, _Scope]] = []
    for node in reversed(nodes):
        for child, scope in _uses(node, scopes[node]):
            known = scopes.get(child)
            scopes[child] = scope if known is None else _common(known, scope)
            uses.append((child, scope))
    order = {node: number for number, node in enumerate(nodes)}
    found: dict[Expr, set[Expr]] = {}
    for child, scope in uses:
        owner = _owner_of_way(scope, scopes[child])
        if owner is not None and not _is_free(child):
            found.setdefault(owner, set()).add(child)
    return {
        owner: tuple(sorted(hoisted, key=lambda node: order[node]))
        for owner, hoisted in found.items()
    }


def _uses(node: Expr, scope: _Scope) -> Iterator[tuple[Expr, _Scope]]:
    """The children of a node with the scope in which each is used."""
    if isinstance(node, Function):
        return
    first, *branches = children(node) or (None,)
    is_branching = isinstance(node, If | Match)
    if first is not None:
        yield first, scope
    for branch in branches:
        yield branch, _Scope(scope, node, scope.depth + 1) if is_branching else scope


def _common(first: _Scope, second: _Scope) -> _Scope:
    """The innermost scope that contains both."""
    while first is not second:
        if first.depth >= second.depth:
            assert first.parent is not None  # the outermost scope contains all others
            first = first.parent
        else:
            assert second.parent is not None
            second = second.parent
    return first


def _owner_of_way(inner: _Scope, outer: _Scope) -> Expr | None:
    """The branching node of `outer` that `inner` lies in; None if they are the same."""
    if inner is outer:
        return None
    while inner.parent is not outer:
        assert inner.parent is not None
        inner = inner.parent
    return inner.owner


def _is_free(node: Expr) -> bool:
    """Whether a node is nothing to compute."""
    return isinstance(node, Var | GlobalVar | Constant | Constructor | Operator)
