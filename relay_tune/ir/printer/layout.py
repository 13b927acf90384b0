"""Where each node of an expression graph is written: the scope of its line, or inside another.

A scope is the body of a function, branch, clause or let. A node that is used in several places is
written in the innermost scope that contains them all (their lowest common ancestor in the tree of
scopes), before its first use there.
"""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Let, Tuple, TupleGetItem
from relay_tune.ir.expression_scopes import ExpressionScope, plan_scopes
from relay_tune.ir.traversal import children, is_leaf, post_order, use_counts
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """The scopes of an expression.

    Attributes:
        top: the scope of the whole.
        inner: the scope that child number `index` of a node opens, by (node, index).
        inline: the nodes that are written where they are used.
    """

    top: ExpressionScope
    inner: dict[tuple[Expr, int], ExpressionScope]
    inline: frozenset[Expr]


def plan_layout(root: Expr) -> Layout:
    """The layout of the graph under `root`; linear up to a logarithm."""
    order = list(post_order(root))
    counts = use_counts(root)
    plan = plan_scopes(root)
    homes = plan.homes
    inline = _inline_nodes(order, counts)
    in_place = _written_in_place(order, counts, homes, [plan.top, *plan.inner.values()])
    for node in order:
        if node not in inline and node not in in_place:
            homes[node].lines.append(node)
    return Layout(plan.top, plan.inner, inline | in_place)


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
    order: list[Expr],
    counts: dict[Expr, int],
    homes: dict[Expr, ExpressionScope],
    scopes: list[ExpressionScope],
) -> frozenset[Expr]:
    """The values of scopes and of lets that nobody else uses: they need no line of their own."""
    values = [scope.root for scope in scopes if homes[scope.root] is scope]
    values += [node.value for node in order if isinstance(node, Let)]
    return frozenset(value for value in values if counts[value] == 1)
