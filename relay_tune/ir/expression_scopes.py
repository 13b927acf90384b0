"""The scopes of an expression graph, and the one that each node belongs to.

A scope is the body of a function, branch, clause or let. A node that is used in several places
belongs to the innermost scope that contains them all (their lowest common ancestor in the tree of
scopes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from relay_tune.ir.expr import Expr, Function, If, Let, Match
from relay_tune.ir.traversal import children, post_order
from relay_tune.quick_dataclass import dataclass

Opens = Callable[[Expr, int], bool]
"""opens(node, index): whether child number `index` of a node is the value of a new scope."""


@dataclass(slots=True, eq=False)
class ExpressionScope:
    """A scope; `jump` is a farther ancestor, so that ancestors are found in logarithmic time.

    The jump pointers follow Myers, An applicative random-access stack, 1983.
    """

    parent: ExpressionScope | None
    depth: int
    jump: ExpressionScope | None
    root: Expr
    lines: list[Expr] = field(default_factory=list)

    def ancestor(self, depth: int) -> ExpressionScope:
        """The scope of this depth around this one, or this one."""
        scope = self
        while scope.depth > depth:
            scope = _step(scope, depth)
        return scope

    def child(self, root: Expr) -> ExpressionScope:
        """A new scope inside this one, whose value is `root`."""
        near = self.jump
        far = near.jump if near is not None else None
        if near is None or far is None or self.depth - near.depth != near.depth - far.depth:
            return ExpressionScope(self, self.depth + 1, self, root)
        return ExpressionScope(self, self.depth + 1, far, root)


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """The scopes of an expression.

    Attributes:
        top: the scope of the whole.
        inner: the scope that child number `index` of a node opens, by (node, index).
        homes: the scope that each node belongs to.
    """

    top: ExpressionScope
    inner: dict[tuple[Expr, int], ExpressionScope]
    homes: dict[Expr, ExpressionScope]

    def scope_of_use(self, node: Expr, index: int) -> ExpressionScope:
        """The scope in which child number `index` of a node is used."""
        return self.inner.get((node, index)) or self.homes[node]


def opens_block(node: Expr, index: int) -> bool:
    """Whether a child is evaluated later, or perhaps not at all: a body, branch or clause."""
    match node:
        case Function():
            return True
        case If() | Match():
            return index > 0
        case _:
            return False


def opens_scope(node: Expr, index: int) -> bool:
    """Whether a child is a block or the body of a let."""
    return opens_block(node, index) or (isinstance(node, Let) and index > 0)


def opens_branch(node: Expr, index: int) -> bool:
    """Whether a child is a branch or clause, which perhaps is not evaluated at all."""
    return isinstance(node, If | Match) and index > 0


def plan_scopes(
    root: Expr, opens: Opens = opens_scope, below: Callable[[Expr], Sequence[Expr]] = children
) -> ScopePlan:
    """The scopes of the graph under `root`; linear up to a logarithm.

    `below(node)` gives what counts as the children of a node.
    """
    top = ExpressionScope(None, 0, None, root)
    inner: dict[tuple[Expr, int], ExpressionScope] = {}
    homes: dict[Expr, ExpressionScope] = {root: top}
    for node in reversed(list(post_order(root, below=below))):
        for index, child in enumerate(below(node)):
            scope = homes[node]
            if opens(node, index):
                scope = inner[node, index] = scope.child(child)
            homes[child] = _common(homes[child], scope) if child in homes else scope
    return ScopePlan(top, inner, homes)


def _common(left: ExpressionScope, right: ExpressionScope) -> ExpressionScope:
    """The lowest common ancestor of two scopes."""
    if left.depth < right.depth:
        left, right = right, left
    while left.depth > right.depth:
        left = _step(left, right.depth)
    while left is not right:
        left, right = _step_both(left, right)
    return left


def _step(scope: ExpressionScope, depth: int) -> ExpressionScope:
    """An ancestor as far up as a single step leads, but not above `depth`."""
    if scope.jump is not None and scope.jump.depth >= depth:
        return scope.jump
    return scope.parent or scope


def _step_both(
    left: ExpressionScope, right: ExpressionScope
) -> tuple[ExpressionScope, ExpressionScope]:
    """Ancestors of two different scopes of one depth, not above their common ancestor."""
    if left.jump is not None and right.jump is not None and left.jump is not right.jump:
        return left.jump, right.jump
    return left.parent or left, right.parent or right
