"""Bind the fields of a tuple in place of the tuple.

before: let %parts = (exp(%x), log(%x)); let %f = fn () { %parts.1 }; (%parts.0, %f)
after:  let %a = exp(%x); let %b = log(%x); let %f = fn () { %b }; (%a, %f)

So each field is computed where it is needed, and closures keep no more than that alive.
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.expr import Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import is_leaf, post_order, rewrite_with_original
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.op_rules.typed import resolved_item, tuple_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import map_functions, with_body


@dataclass(frozen=True)
class SplitTuples:
    """Removes the lets whose value is a tuple that is written out."""

    name: ClassVar[str] = "split_tuples"

    def __call__(self, module: Module) -> Module:
        """The module in which lets bind fields."""
        return map_functions(module, lambda function: with_body(function, _split(function.body)))


def _split(body: Expr) -> Expr:
    nodes = post_order(body, enter=lambda node: not is_opaque_function(node))
    tuples = {
        node.var: node.value
        for node in nodes
        if isinstance(node, Let) and isinstance(node.value, Tuple) and node.var.annotation is None
    }
    if not tuples:
        return body
    fields = {
        var: tuple(
            field
            if is_leaf(field) and field not in tuples
            else Var(f"{var.name}_{index}", type=field.type)
            for index, field in enumerate(value.fields)
        )
        for var, value in tuples.items()
    }

    def visit(original: Expr, node: Expr) -> Expr:
        if isinstance(original, Var) and original in fields:
            return tuple_of(fields[original])
        if isinstance(node, TupleGetItem):
            return resolved_item(node)
        if isinstance(original, Let) and original.var in fields and isinstance(node, Let):
            return _bound(node, tuples[original.var], fields[original.var])
        return node

    return rewrite_with_original(body, visit, enter=lambda node: not is_opaque_function(node))


def _bound(let: Let, old: Tuple, names: tuple[Expr, ...]) -> Expr:
    """The body of a let of a tuple, inside of lets of its fields."""
    assert isinstance(let.value, Tuple)
    body = let.body
    for field, before, name in reversed(
        list(zip(let.value.fields, old.fields, names, strict=True))
    ):
        if isinstance(name, Var) and name is not before:
            body = Let(name, field, body, type=body.type, span=let.span)
    return body
