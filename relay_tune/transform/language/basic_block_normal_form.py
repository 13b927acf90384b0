"""Name the values that several blocks use; the rest stays a graph.

before:
    def @main(%x: Tensor[(4), float32], %positive: bool) {
      %0 = exp(%x);
      %1 = if (%positive) {
        add(%0, %x)
      } else {
        negative(%0)
      };
      multiply(%1, %0)
    }

after:
    def @main(%x: Tensor[(4), float32], %positive: bool) {
      let %v = exp(%x);
      %0 = if (%positive) {
        add(%v, %x)
      } else {
        negative(%v)
      };
      multiply(%0, %v)
    }

Within a block, which is a body, branch or clause, the graph says all there is to say of the order
of evaluation. A node that several blocks share does not: a let says where it is evaluated.
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.expr import Expr
from relay_tune.ir.expression_scopes import ExpressionScope, opens_block, opens_scope, plan_scopes
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.effects import may_have_effect
from relay_tune.transform.language.let_blocks import LetBlocks, is_atom
from relay_tune.transform.module_pass import map_functions, with_body


@dataclass(frozen=True)
class ToBasicBlockNormalForm:
    """Binds with let what is used in several blocks, and nothing else."""

    name: ClassVar[str] = "to_basic_block_normal_form"

    def __call__(self, module: Module) -> Module:
        """The module in basic-block normal form; types are kept."""
        return map_functions(module, lambda function: with_body(function, _named(function.body)))


def is_basic_block_normal_form(expr: Expr) -> bool:
    """Whether no node below an expression is shared between blocks."""
    return not _shared_between_blocks(expr)


def _named(body: Expr) -> Expr:
    chosen = _shared_between_blocks(body)
    if not chosen:
        return body
    chosen |= _ordered_with(body, chosen)
    return LetBlocks(plan_scopes(body, opens_scope), chosen.__contains__).body()


def _shared_between_blocks(root: Expr) -> set[Expr]:
    """The nodes, but for names and constants, that are used in a block they do not belong to."""
    plan = plan_scopes(root, opens_block)
    return {
        child
        for node in post_order(root)
        for index, child in enumerate(children(node))
        if not is_atom(child) and plan.homes[child] is not plan.scope_of_use(node, index)
    }


def _ordered_with(root: Expr, chosen: set[Expr]) -> set[Expr]:
    """What must be bound beside `chosen`, since binding those moves effects to an earlier point."""
    effects = {node for node in post_order(root) if may_have_effect(node)}
    if not effects & chosen:
        return set()
    homes = plan_scopes(root, opens_block).homes
    moved: set[ExpressionScope] = {homes[node] for node in effects & chosen}
    return {node for node in effects if homes[node] in moved}
