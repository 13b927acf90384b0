"""Where the nodes of one activation belong: to its body, or to one of its branches or clauses."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.expr import Expr, Function, If, Match
from relay_tune.ir.expression_scopes import ScopePlan, opens_branch, plan_scopes
from relay_tune.ir.traversal import children, free_vars, post_order
from relay_tune.transform.module_pass import same_scope


def has_branches(body: Expr) -> bool:
    """Whether an activation decides which nodes it evaluates."""
    return any(isinstance(node, If | Match) for node in post_order(body, enter=same_scope))


def branch_plan(body: Expr) -> ScopePlan:
    """The branches of an activation, and the innermost that contains all uses of each node."""
    return plan_scopes(body, opens_branch, used_nodes)


def used_nodes(node: Expr) -> Sequence[Expr]:
    """What a node needs when it is evaluated: a function, the variables that it captures."""
    return free_vars(node) if isinstance(node, Function) else children(node)
