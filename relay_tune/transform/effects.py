"""Which expressions may do more than have a value."""

from __future__ import annotations

from collections.abc import Collection

from relay_tune.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    RefCreate,
    RefRead,
    RefWrite,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, post_order


def module_has_effects(module: Module) -> bool:
    """Whether anything in the module writes to a cell or is stateful."""
    return any(_writes(node) for node in post_order(*module.functions.values()))


def effectful_nodes(root: Expr, harmless: Collection[str] = ()) -> set[Expr]:
    """The nodes whose evaluation may have an effect, in a module that has effects at all.

    A function value has none until it is called; any call of a function may have one, unless it is
    one of the module's functions that are named as `harmless`.
    """
    found: set[Expr] = set()
    for node in post_order(root):
        is_call = _calls_a_function(node) and not _calls(node, harmless)
        if is_call or _writes(node) or _has_effectful_child(node, found):
            found.add(node)
    return found


def closure_makers(module: Module) -> frozenset[str]:
    """The functions of a module that do nothing but return a closure."""
    functions = module.functions.items()
    return frozenset(name for name, each in functions if isinstance(each.body, Function))


def touches_cells(node: Expr) -> bool:
    """Whether the very node depends on the order of effects."""
    return isinstance(node, RefCreate | RefRead | RefWrite) or _writes(node)


def _writes(node: Expr) -> bool:
    stateful = isinstance(node, Call) and isinstance(node.callee, Operator) and node.callee.stateful
    return stateful or isinstance(node, RefWrite)


def _calls_a_function(node: Expr) -> bool:
    return isinstance(node, Call) and not isinstance(node.callee, Operator | Constructor)


def _calls(node: Expr, names: Collection[str]) -> bool:
    match node:
        case Call(callee=GlobalVar(name=name)):
            return name in names
        case _:
            return False


def _has_effectful_child(node: Expr, found: set[Expr]) -> bool:
    return not isinstance(node, Function) and any(child in found for child in children(node))


def may_have_effect(node: Expr) -> bool:
    """Whether evaluating the very node may depend on the order of effects."""
    return touches_cells(node) or _calls_a_function(node)
