"""Repeat slices in the branches that use them, so that what uses them reads the whole.

before:
    %0 = strided_slice(%x, begin=[0], end=[4], axes=[1]);
    if (%c) { exp(%0) } else { log(%0) }

after:
    if (%c) { exp(strided_slice(%x, begin=[0], end=[4], axes=[1])) }
    else { log(strided_slice(%x, begin=[0], end=[4], axes=[1])) }

One branch is evaluated, so nothing is computed twice; and in its branch a slice is fused with what
uses it, where it was a copy before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.expression_scopes import ExpressionScope, ScopePlan
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.op_rules.fusion.table import fusion_rule
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import branch_plan, has_branches
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class RepeatSlices:
    """Gives every branch its own slices."""

    name: ClassVar[str] = "repeat_slices"

    def __call__(self, module: Module) -> Module:
        """The module in which no slice is used by several branches only."""
        return map_scopes(module, _repeated)


def _repeated(body: Expr) -> Expr:
    if not has_branches(body):
        return body
    nodes = list(post_order(body, enter=same_scope))
    slices = {node for node in nodes if fusion_rule(node).is_slice}
    if not slices:
        return body
    plan = branch_plan(body)
    uses = [
        (node, index, child)
        for node in nodes
        if same_scope(node)
        for index, child in enumerate(children(node))
        if child in slices
    ]
    used_at_home = {
        child for node, index, child in uses if plan.scope_of_use(node, index) is plan.homes[child]
    }
    copies = _Copies(plan)
    done: dict[Expr, Expr] = {}
    for node in nodes:
        if not same_scope(node):
            done[node] = node
            continue
        new = [done[child] for child in children(node)]
        for index, child in enumerate(children(node)):
            if child in slices and child not in used_at_home:
                new[index] = copies.copy(child, done[child], plan.scope_of_use(node, index))
        done[node] = rebuild(node, new)
    return done[body]


class _Copies:
    """One copy of a slice for each branch below the point where it was."""

    def __init__(self, plan: ScopePlan) -> None:
        self._plan = plan
        self._made: dict[tuple[Expr, ExpressionScope], Expr] = {}

    def copy(self, original: Expr, node: Expr, use: ExpressionScope) -> Expr:
        """The copy for a use in some branch."""
        branch = use.ancestor(self._plan.homes[original].depth + 1)
        assert isinstance(node, Call)
        return self._made.setdefault((original, branch), replace(node))
