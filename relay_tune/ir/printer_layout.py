"""Where each node of an expression graph is written: the scope of its line, or inside another.

A scope is the body of a function, branch, clause or let. A node that is used in several places is
written in the innermost scope that contains them all (their lowest common ancestor in the tree of
scopes), before its first use there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relay_tune.ir.expr import Expr, Function, If, Let, Match, Tuple, TupleGetItem
from relay_tune.ir.traversal import children, is_leaf, post_order, use_counts


@dataclass(slots=True, eq=False)
class Scope:
    """A scope; `jump` is a farther ancestor, so that ancestors are found in logarithmic time.

    The jump pointers follow Myers, An applicative random-access stack, 1983.
    """

    parent: Scope | None
    depth: int
    jump: Scope | None
    root: Expr
    lines: list[Expr] = field(default_factory=list)

    def child(self, root: Expr) -> Scope:
        """A new scope inside this one, whose value is `root`."""
        near = self.jump
        far = near.jump if near is not None else None
        if near is None or far is None or self.depth - near.depth != near.depth - far.depth:
            return Scope(self, self.depth + 1, self, root)
        return Scope(self, self.depth + 1, far, root)


@dataclass(frozen=True, slots=True)
class Layout:
    """The scopes of an expression.

    Attributes:
        top: the scope of the whole.
        inner: the scope that child number `index` of a node opens, by (node, index).
        inline: the nodes that are written where they are used.
    """

    top: Scope
    inner: dict[tuple[Expr, int], Scope]
    inline: frozenset[Expr]


def plan_layout(root: Expr) -> Layout:
    """The layout of the graph under `root`; linear up to a logarithm."""
    order = list(post_order(root))
    counts = use_counts(root)
    top = Scope(None, 0, None, root)
    inner: dict[tuple[Expr, int], Scope] = {}
    homes: dict[Expr, Scope] = {root: top}
    for node in reversed(order):
        for index, child in enumerate(children(node)):
            scope = homes[node]
            if _opens_scope(node, index):
                scope = inner[node, index] = scope.child(child)
            homes[child] = _common(homes[child], scope) if child in homes else scope
    inline = _inline_nodes(order, counts)
    in_place = _written_in_place(order, counts, homes, [top, *inner.values()])
    for node in order:
        if node not in inline and node not in in_place:
            homes[node].lines.append(node)
    return Layout(top, inner, inline | in_place)


def _opens_scope(node: Expr, index: int) -> bool:
    match node:
        case Function():
            return True
        case If() | Match() | Let():
            return index > 0
        case _:
            return False


def _inline_nodes(order: list[Expr], counts: dict[Expr, int]) -> frozenset[Expr]:
    """Leaves, and tuples and projections of what has a name, if used once."""
    inline: set[Expr] = set()
    for node in order:
        small = isinstance(node, Tuple | TupleGetItem) and counts[node] == 1
        if is_leaf(node) or (small and _has_named_parts(node, inline)):
            inline.add(node)
    return frozenset(inline)


def _has_named_parts(node: Expr, inline: set[Expr]) -> bool:
    return all(is_leaf(child) or child not in inline for child in children(node))


def _written_in_place(
    order: list[Expr], counts: dict[Expr, int], homes: dict[Expr, Scope], scopes: list[Scope]
) -> frozenset[Expr]:
    """The values of scopes and of lets that nobody else uses: they need no line of their own."""
    values = [scope.root for scope in scopes if homes[scope.root] is scope]
    values += [node.value for node in order if isinstance(node, Let)]
    return frozenset(value for value in values if counts[value] == 1)


def _common(left: Scope, right: Scope) -> Scope:
    """The lowest common ancestor of two scopes."""
    if left.depth < right.depth:
        left, right = right, left
    while left.depth > right.depth:
        left = _step(left, right.depth)
    while left is not right:
        left, right = _step_both(left, right)
    return left


def _step(scope: Scope, depth: int) -> Scope:
    """An ancestor as far up as a single step leads, but not above `depth`."""
    if scope.jump is not None and scope.jump.depth >= depth:
        return scope.jump
    return scope.parent or scope


def _step_both(left: Scope, right: Scope) -> tuple[Scope, Scope]:
    """Ancestors of two different scopes of one depth, not above their common ancestor."""
    if left.jump is not None and right.jump is not None and left.jump is not right.jump:
        return left.jump, right.jump
    return left.parent or left, right.parent or right
