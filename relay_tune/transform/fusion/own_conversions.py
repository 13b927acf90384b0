"""Each reader of stored weights converts them itself.

before:  %0 = cast(W: bfloat16, dtype="float32"); nn.dense(take(%0, %ids), %0)
after:   nn.dense(take(cast(W, ..), %ids), cast(W, ..))

A kernel that converted them for all would write, and the others read, what they are stored narrow
for not to be.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.op_rules.fold.stored import is_stored
from relay_tune.transform.module_pass import same_scope


def with_own_conversions(body: Expr) -> Expr:
    """The body of a scope in which no two calls read one call that converts weights."""
    if not any(is_stored(node) for node in post_order(body, enter=same_scope)):
        return body

    def visit(node: Expr) -> Expr:
        if not isinstance(node, Call) or not any(map(is_stored, node.arguments)):
            return node
        own = tuple(replace(each) if is_stored(each) else each for each in node.arguments)
        return replace(node, arguments=own)

    return rewrite(body, visit, enter=same_scope)
