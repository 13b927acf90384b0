"""Types that a program tells where it names a value: each gets a binding that does nothing else.

before:
    let %open: Tensor[(?, ?), float32] = sin(%x);          %x: Tensor[(1, 3), float32]

after:
    let %open_1 = sin(%x);
    let %open: Tensor[(?, ?), float32] = %open_1;

A variable, a function's result and a branch may be told to have fewer or more known sizes than the
value. With this form, calls give what their operators say, and a type changes only where one name
is given another.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.ir.expr import Clause, Expr, Function, If, Let, Match
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import Type
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    let_block,
    parameter,
    type_of,
    variable,
)
from relay_tune.transform.language.let_blocks import is_atom
from relay_tune.transform.module_pass import with_body


def with_told_types(function: Function) -> Function:
    """A typed function in A-normal form, in which types change at bindings of atoms only."""
    if function.is_primitive:
        return function
    body = rewrite(function.body, _told, enter=lambda node: not is_opaque_function(node))
    result = function.result_type
    return with_body(function, body if result is None else _ending_in(body, result))


def _told(node: Expr) -> Expr:
    match node:
        case Let() if not is_atom(node.value) and type_of(node.value) != type_of(node.var):
            value = variable(node.var.name, type_of(node.value))
            return let_block([(value, node.value), (node.var, value)], node.body)
        case If():
            type_ = type_of(node)
            return replace(
                node,
                true_branch=_ending_in(node.true_branch, type_),
                false_branch=_ending_in(node.false_branch, type_),
            )
        case Match():
            type_ = type_of(node)
            clauses = tuple(Clause(c.pattern, _ending_in(c.body, type_)) for c in node.clauses)
            return replace(node, clauses=clauses)
        case _:
            return node


def _ending_in(block: Expr, type_: Type) -> Expr:
    """A block whose result has a type."""
    if type_of(block) == type_:
        return block
    bindings: list[Binding] = []
    while isinstance(block, Let):
        bindings.append((block.var, block.value))
        block = block.body
    if not is_atom(block):
        bindings.append((variable("result", type_of(block)), block))
        block = bindings[-1][0]
    told = parameter("result", type_)
    return let_block([*bindings, (told, block)], told)
