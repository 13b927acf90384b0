"""What a pass is: a frozen record of options that maps a module to a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from relay_tune.ir.expr import Expr, Function
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rebuild, rewrite
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.remembered import is_building, remembered


class ModulePass(Protocol):
    """A pass; its fields are its options. It takes and gives a typed module."""

    name: ClassVar[str]
    """As shown in timings and messages, and as pipelines in text name it."""

    def __call__(self, module: Module) -> Module:
        """The transformed module."""


class PassClass(Protocol):
    """A class of passes, a dataclass; called with options by name it gives a pass."""

    name: str

    def __call__(self, *args: Any, **options: Any) -> ModulePass:
        """The pass with these options."""


def map_functions(module: Module, transform: Callable[[Function], Function]) -> Module:
    """The module with `transform` applied to every function that is not fused already."""
    functions = {
        name: function if function.is_primitive else transform(function)
        for name, function in module.functions.items()
    }
    if all(functions[name] is module.functions[name] for name in functions):
        return module
    return replace(module, functions=functions)


def rewrite_calls(module: Module, visit: Callable[[Expr], Expr]) -> Module:
    """Rewrite every function bottom up with `visit`; fused functions are left alone."""

    def transform(function: Function) -> Function:
        body = rewrite(function.body, visit, enter=lambda node: not is_opaque_function(node))
        return with_body(function, body)

    return map_functions(module, transform)


def map_scopes(module: Module, transform: Callable[[Expr], Expr]) -> Module:
    """Apply `transform` to the body of every function and closure, innermost first.

    For passes that must not mix the nodes of different activations: `transform` must not look
    into nested functions (see `same_scope`).
    """
    return map_functions(module, lambda function: _map_scopes(function, transform))


def same_scope(node: Expr) -> bool:
    """Whether the children of `node` belong to the activation that `node` belongs to."""
    return not isinstance(node, Function)


def replace_nodes(body: Expr, replacements: dict[Expr, Expr]) -> Expr:
    """The body with new expressions, of old nodes that are replaced in turn, in place of nodes."""
    if not replacements:
        return body

    def below(node: Expr) -> Sequence[Expr]:
        new = replacements.get(node, node)
        return children(new) if same_scope(new) else ()

    done: dict[Expr, Expr] = {}
    for node in post_order(body, below=below):
        new = replacements.get(node, node)
        parts = [done[child] for child in below(node)]
        done[node] = rebuild(new, parts) if same_scope(new) else new
    return done[body]


def with_body(function: Function, body: Expr) -> Function:
    """`function` with another body; itself if it is the same."""
    return function if body is function.body else replace(function, body=body)


def _map_scopes(root: Function, transform: Callable[[Expr], Expr]) -> Function:
    done: dict[Expr, Expr] = {}
    functions_of = _kept_functions_of if is_building() else _functions_of
    for function in functions_of(root):
        if function.is_primitive:
            done[function] = function
            continue
        body = function.body
        if any(new is not old for old, new in done.items()):
            body = rewrite(body, lambda node: done.get(node, node), enter=same_scope)
        done[function] = with_body(function, transform(body))
    result = done[root]
    return result if isinstance(result, Function) else root


def _functions_of(root: Function) -> tuple[Function, ...]:
    """A function and those in it, innermost first."""
    nodes = post_order(root, enter=lambda node: not is_opaque_function(node))
    return tuple(node for node in nodes if isinstance(node, Function))


_kept_functions_of = remembered(2)(_functions_of)
"""The same for the pass after one that left the function as it was, as most passes do.

Few, and in builds only: a function has weights.
"""
