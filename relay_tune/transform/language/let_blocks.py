"""Turning nodes of the graph into let-bound variables, in the order in which they are evaluated.

A block is what one activation evaluates in a row: a body, a branch or a clause. A node that is used
in several blocks is bound in the innermost block that contains them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from relay_tune.ir.expr import Constant, Constructor, Expr, Function, GlobalVar, Let, Var
from relay_tune.ir.expression_scopes import ExpressionScope, ScopePlan
from relay_tune.ir.operator import Operator
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.traversal import children, rebuild
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass

Visit = Recursive[Expr]


@dataclass(frozen=True, slots=True)
class LetBinding:
    """`let var = value`; `original` is the let that it was, None for a new variable."""

    var: Var
    value: Expr
    original: Let | None = None

    @property
    def only_names_its_value(self) -> bool:
        """Whether nothing is lost where the value stands in place of the variable."""
        if self.original is None:
            return True
        return self.var.annotation is None and not isinstance(self.value, Function)


@dataclass(frozen=True, slots=True)
class Block:
    """Bindings in order, as far as they are made."""

    bindings: list[LetBinding] = field(default_factory=list)

    def bind(self, value: Expr) -> Var:
        """A new variable for a value."""
        var = Var("v", type=value.type)
        self.bindings.append(LetBinding(var, value))
        return var

    def ending(self, value: Expr) -> Expr:
        """The block with this value; where its last binding is the value, that is not bound."""
        last = self.bindings[-1] if self.bindings else None
        if last is not None and last.var is value and last.only_names_its_value:
            self.bindings.pop()
            value = last.value
        for binding in reversed(self.bindings):
            span = None if binding.original is None else binding.original.span
            value = Let(binding.var, binding.value, value, type=value.type, span=span)
        return value


def is_atom(node: Expr) -> bool:
    """Whether a node is a value that takes no evaluation."""
    leaf = isinstance(node, Var | GlobalVar | Constant | Operator | Constructor)
    return leaf or is_opaque_function(node)


class LetBlocks:
    """Rewrites an expression so that chosen nodes are bound by let.

    `plan` gives the blocks; `chosen(node)` says whether a node that is no atom is bound.
    """

    def __init__(self, plan: ScopePlan, chosen: Callable[[Expr], bool]) -> None:
        self._plan = plan
        self._chosen = chosen
        self._blocks: dict[ExpressionScope, Block] = {}
        self._done: dict[Expr, Expr] = {}

    def body(self) -> Expr:
        """The whole expression."""
        return run(self._block(self._plan.top))

    def _block(self, scope: ExpressionScope) -> Visit:
        block = self._blocks[scope] = Block()
        value = yield self._visit(scope.root)
        return block.ending(value)

    def _visit(self, node: Expr) -> Visit:
        if node in self._done:
            return self._done[node]
        if is_atom(node):
            return node
        if isinstance(node, Let) and (node, 1) not in self._plan.inner:
            result = yield self._flat_let(node)
        else:
            result = yield self._rebuilt(node)
            if self._chosen(node):
                result = self._blocks[self._plan.homes[node]].bind(result)
        self._done[node] = result
        return result

    def _flat_let(self, let: Let) -> Visit:
        """A let of the block: its value is bound in order, then its body goes on."""
        block = self._blocks[self._plan.homes[let]]
        if self._is_named_here(let):
            value = yield self._rebuilt(let.value)
            self._done[let.value] = let.var
        else:
            value = yield self._visit(let.value)
        if is_atom(value) and let.var.annotation is None:
            self._done[let.var] = value
        else:
            block.bindings.append(LetBinding(let.var, value, let))
        return (yield self._visit(let.body))

    def _is_named_here(self, let: Let) -> bool:
        """Whether the value is evaluated at the let, for the first time."""
        value, homes = let.value, self._plan.homes
        if is_atom(value) or isinstance(value, Let) or value in self._done:
            return False
        return homes[value] is homes[let]

    def _rebuilt(self, node: Expr) -> Visit:
        """The node made of its rewritten children; blocks are made where it opens them."""
        if isinstance(node, Let):
            return (yield self._nested_let(node))
        parts = []
        for index, child in enumerate(children(node)):
            scope = self._plan.inner.get((node, index))
            part = yield (self._visit(child) if scope is None else self._block(scope))
            parts.append(part)
        return rebuild(node, parts)

    def _nested_let(self, let: Let) -> Visit:
        value = yield self._visit(let.value)
        body = yield self._block(self._plan.inner[let, 1])
        return rebuild(let, (value, body))
