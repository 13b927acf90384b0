"""Values as opposed to callees: what a node uses without calling it."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.traversal import children, rebuild, rewrite
from relay_tune.op_rules.matching import is_opaque_function


def rewrite_operands(function: Function, change: Callable[[Expr], Expr]) -> Function:
    """A function with `change` applied to every expression in it that is no callee.

    `change` is given the operands of a node, whose own operands were rewritten before. Fused
    functions are left alone.
    """

    def visit(node: Expr) -> Expr:
        first = 1 if isinstance(node, Call) else 0
        below = children(node)
        return rebuild(node, [*below[:first], *map(change, below[first:])])

    result = rewrite(function, visit, enter=lambda node: not is_opaque_function(node))
    return result if isinstance(result, Function) else function
