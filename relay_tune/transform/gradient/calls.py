"""Calls in what is differentiated: which functions are reached, and which are written in place.

A function that is called has a tape, a forward and a backward function. Where the body stands in
place of the call, forward and backward code stand in one scope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.ir.reached import reached
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.transform.gradient.stand_ins import is_ruled, is_stand_in
from relay_tune.transform.language.inline import inlined_call
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.call_graph import recursive_groups, used_globals
from relay_tune.typing.infer import infer_types

SMALL = 64
"""Nodes of functions that are written in place of each of several calls."""


def reachable(module: Module, name: str) -> set[str]:
    """The functions that a function uses, itself or through others."""
    return _used(module, name, lambda function: True)


def differentiated_with(module: Module, name: str) -> set[str]:
    """The functions that are looked into where a function is differentiated: those that it
    reaches, but not by way of those with rules of their own."""
    return _used(module, name, lambda function: not is_ruled(function))


def _used(module: Module, name: str, is_entered: Callable[[Function], bool]) -> set[str]:
    """The functions that a function uses, itself or by way of those that are entered."""

    def entered(current: str) -> tuple[str, ...]:
        is_known = current in module.functions
        return used_globals(module[current]) if is_known and is_entered(module[current]) else ()

    return {
        each for each in reached(used_globals(module[name]), entered) if each in module.functions
    }


def inlined(
    module: Module, names: Collection[str], into: Collection[str], most: int = SMALL
) -> Module:
    """The typed module in which the functions `into` contain those called `names` that do not call
    themselves, and are called once there or have at most so many nodes."""
    calls = Counter(
        node.callee.name
        for name in into
        for node in post_order(module[name])
        if isinstance(node, Call) and isinstance(node.callee, GlobalVar)
    )
    chosen: dict[str, Function] = {}
    functions = dict(module.functions)
    for group in recursive_groups(module):
        for name in (each for each in group if each in into):
            if is_stand_in(module[name]):
                continue
            function = functions[name] = _with_bodies(module[name], chosen)
            is_recursive = len(group) > 1 or name in used_globals(function)
            is_wanted = calls[name] == 1 or _has_at_most(function, most)
            if name in names and is_wanted and not is_recursive:
                chosen[name] = function
    return infer_types(replace(module, functions=functions)) if chosen else module


def _with_bodies(function: Function, chosen: dict[str, Function]) -> Function:
    if function.is_primitive or not any(name in chosen for name in used_globals(function)):
        return function

    def visit(node: Expr) -> Expr:
        if isinstance(node, Call) and isinstance(node.callee, GlobalVar):
            callee = chosen.get(node.callee.name)
            if callee is not None:
                return inlined_call(callee, node)
        return node

    body = rewrite(function.body, visit, enter=lambda node: not is_opaque_function(node))
    return with_body(function, body)


def _has_at_most(function: Function, most: int) -> bool:
    return sum(1 for _ in post_order(function.body)) <= most
