"""Bind pure values in the branch that needs them.

before:
    let %scale = exp(%x);
    let %scaled = fn (%y) { multiply(%y, %scale) };
    match (%items) { Nil => %x, _ => @map_all(%scaled, %items) }

after:
    match (%items) {
      Nil => %x,
      _ => {
        let %scale = exp(%x);
        let %scaled = fn (%y) { multiply(%y, %scale) };
        @map_all(%scaled, %items)
      },
    }

Nodes of the graph are computed where they are needed anyway; this is for what must have a name,
since closures capture it. A binding never moves into a function, which may be called many times.
It is the floating inwards of S. Peyton Jones, W. Partain and A. Santos, "Let-floating: moving
bindings to give faster programs" (ICFP 1996), section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relay_tune.ir.expr import Expr, Function, Let, Var
from relay_tune.ir.expression_scopes import ExpressionScope, opens_branch, plan_scopes
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, free_vars, post_order, rebuild
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import has_branches, used_nodes
from relay_tune.transform.language.graph_normal_form import ordered_nodes
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class SinkBindings:
    """Moves lets of pure values and closures inwards."""

    name: ClassVar[str] = "sink_bindings"

    def __call__(self, module: Module) -> Module:
        """The module with each such let in the innermost branch around all uses."""
        return map_scopes(module, _with_sunk_lets)


def _with_sunk_lets(body: Expr) -> Expr:
    if not has_branches(body):
        return body
    nodes = list(post_order(body, enter=same_scope))
    lets = _movable_lets(nodes)
    if not lets:
        return body

    def below(node: Expr) -> Sequence[Expr]:
        if isinstance(node, Var) and node in lets:
            return (lets[node].value,)
        if isinstance(node, Let) and node.var in lets:
            return (node.body,)
        return used_nodes(node)

    plan = plan_scopes(body, opens_branch, below)
    moved: dict[ExpressionScope, list[Let]] = {}
    for let in reversed(lets.values()):  # outer ones, which others may use, come first
        home = plan.homes.get(let.var)
        if home is not None and home is not plan.homes.get(let):
            moved.setdefault(home, []).append(let)
    if not moved:
        return body
    sunk = {let for group in moved.values() for let in group}
    done: dict[Expr, Expr] = {}
    for node in nodes:
        if not same_scope(node):
            done[node] = node
            continue
        new = [done[child] for child in children(node)]
        for index in range(len(new)):
            scope = plan.inner.get((node, index))
            for let in reversed(moved.get(scope, ())) if scope is not None else ():
                value, inner = done[let.value], new[index]
                new[index] = Let(let.var, value, inner, type=inner.type, span=let.span)
        done[node] = new[1] if node in sunk else rebuild(node, new)
    return done[body]


def _movable_lets(nodes: Sequence[Expr]) -> dict[Var, Let]:
    """The lets of this activation that may move, inner ones first.

    Those that nothing reads stay, and what they read with them: they may check sizes.
    """
    ordered = ordered_nodes(nodes)
    read = {child for node in nodes for child in used_nodes(node)}
    return {
        node.var: node
        for node in nodes
        if isinstance(node, Let)
        and node.var in read
        and (node.value not in ordered or _is_plain_closure(node.value, node.var))
    }


def _is_plain_closure(value: Expr, var: Var) -> bool:
    return isinstance(value, Function) and var not in free_vars(value)
