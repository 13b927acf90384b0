"""A block whose backward code was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.trampoline import Recursive
from relay_tune.ir.traversal import rewrite
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.typed_nodes import Binding, let_block

Adjoints = dict[Var, Adjoint]
Sweeping = Recursive[Any]
"""A sweep that may wait for those of inner blocks and of other functions."""


@dataclass
class Swept:
    """A block and its backward code.

    Attributes:
        bindings: those of the block, in order, with tapes where they are needed.
        result: its value, a variable or constant.
        backward: the bindings of the backward code, in order.
        adjoints: of variables from around the block.
    """

    bindings: list[Binding]
    result: Expr
    backward: list[Binding] = field(default_factory=list)
    adjoints: Adjoints = field(default_factory=dict)

    def block(self, result: Expr | None = None) -> Expr:
        """The block, with another result if one is given."""
        return let_block(self.bindings, self.result if result is None else result)


def substituted(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """An expression with other nodes in place of some."""
    if not values:
        return root
    return rewrite(root, lambda node: values.get(node, node))
