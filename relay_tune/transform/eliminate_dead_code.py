"""Remove bindings whose value is not needed and functions that are not called.

before: let %unused = exp(%x); nn.relu(%x)
after:  nn.relu(%x)
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.expr import Expr, Function, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, rewrite
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.effects import effectful_nodes, module_has_effects
from relay_tune.transform.module_pass import map_functions, with_body
from relay_tune.typing.call_graph import functions_used_by


@dataclass(frozen=True)
class EliminateDeadCode:
    """Keeps what `entry` needs, and every binding that may have an effect."""

    name: ClassVar[str] = "eliminate_dead_code"
    entry: str = "main"

    def __call__(self, module: Module) -> Module:
        """The module without unneeded bindings and functions."""
        effects = module_has_effects(module)
        cleaned = map_functions(module, lambda function: _without_dead_lets(function, effects))
        return _without_unused_functions(cleaned, self.entry)


def _without_dead_lets(function: Function, module_has_effects: bool) -> Function:
    effectful = effectful_nodes(function.body) if module_has_effects else set()
    live = _live_vars(function.body, effectful)

    def visit(node: Expr) -> Expr:
        is_dead = isinstance(node, Let) and node.var not in live
        return node.body if is_dead and isinstance(node, Let) else node

    return with_body(function, rewrite(function.body, visit))


def _live_vars(root: Expr, effectful: set[Expr]) -> set[Var]:
    """The variables that are needed, and those bound to a value that may have an effect."""
    live: set[Var] = set()
    bindings: dict[Var, Expr] = {}
    seen: set[Expr] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Let):
            bindings[node.var] = node.value
            if node.value in effectful:
                live.add(node.var)
            pending.append(node.body)
            if node.var in live:
                pending.append(node.value)
        elif isinstance(node, Var):
            live.add(node)
            if node in bindings:
                pending.append(bindings[node])
        else:
            pending.extend(children(node))
    return live


def _without_unused_functions(module: Module, entry: str) -> Module:
    if entry not in module.functions:
        return module
    needed = functions_used_by(module, entry)
    if len(needed) == len(module.functions):
        return module
    kept = {name: function for name, function in module.functions.items() if name in needed}
    return replace(module, functions=kept)
