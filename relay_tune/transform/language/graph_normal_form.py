"""Turn let-bound values into shared nodes of the graph.

before:
    def @main(%x: Tensor[(4), float32]) {
      let %a = nn.relu(%x);
      let %b = add(%a, %a);
      %b
    }

after:
    def @main(%x: Tensor[(4), float32]) {
      %0 = nn.relu(%x);
      add(%0, %0)
    }

Sharing then means what the let meant: a node is computed once in each activation. A binding stays
where that would not hold: its value is no plain operator call, or a nested function uses it. It
also stays where its annotation says less than the type of its value: `?` for a known size, say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, free_vars, post_order, rewrite_with_original
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class ToGraphNormalForm:
    """Removes the lets of pure tensor values."""

    name: ClassVar[str] = "to_graph_normal_form"

    def __call__(self, module: Module) -> Module:
        """The module with a graph in place of bindings."""
        return map_scopes(module, _without_pure_lets)


def _without_pure_lets(body: Expr) -> Expr:
    values = _inlined_values(body)
    if not values:
        return body
    finished: dict[Expr, Expr] = {}

    def visit(original: Expr, node: Expr) -> Expr:
        result = node
        if isinstance(original, Var) and original in values:
            result = finished[values[original]]
        elif isinstance(original, Let) and isinstance(node, Let) and original.var in values:
            result = node.body
        finished[original] = result
        return result

    return rewrite_with_original(body, visit, enter=same_scope)


def _inlined_values(body: Expr) -> dict[Var, Expr]:
    """The bindings of this activation that become nodes of the graph."""
    nodes = list(post_order(body, enter=same_scope))
    ordered = ordered_nodes(nodes)
    captured = {var for node in nodes if isinstance(node, Function) for var in free_vars(node)}
    return {
        node.var: node.value
        for node in nodes
        if isinstance(node, Let)
        and node.value not in ordered
        and node.var not in captured
        and node.var.annotation in (None, node.value.type)
    }


def ordered_nodes(nodes: Iterable[Expr]) -> set[Expr]:
    """The nodes that must be evaluated where they stand: they are no pure tensor computation."""
    ordered: set[Expr] = set()
    for node in nodes:
        if not _is_pure(node) or any(child in ordered for child in children(node)):
            ordered.add(node)
    return ordered


def _is_pure(node: Expr) -> bool:
    match node:
        case Call(callee=Operator() as operator):
            return not operator.stateful
        case Call(callee=Function() as function):
            return function.is_primitive
        case Function():
            return node.is_primitive
        case _:
            return isinstance(node, Var | Constant | Tuple | TupleGetItem | Operator)
