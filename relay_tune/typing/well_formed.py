"""Well-formedness: every variable is bound once, and used only where it is bound."""

from __future__ import annotations

from collections.abc import Iterator

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.expr import Expr, Function, Let, Match, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import bound_vars, children, pattern_vars, post_order
from relay_tune.typing.places import Places


def check_well_formed(module: Module) -> None:
    """Raise TypeInferenceError on a variable that is bound twice or used outside of its scope.

    A `let` variable is in scope in the body, and in the value if that is a function.
    """
    places = Places(module.sources)
    bound: set[Var] = set()
    for name, function in module.functions.items():
        places.function = name
        _check_bound_once(function, bound, places)
        free = next(_out_of_scope(function), None)
        if free is not None:
            raise _unbound(free, places)


def _check_bound_once(root: Expr, bound: set[Var], places: Places) -> None:
    for node in post_order(root):
        for var in bound_vars(node):
            if var in bound:
                raise places.error(
                    node,
                    f"The variable %{var.name} is bound twice.",
                    remedy="Make a new variable for each binding; names may be equal.",
                )
            bound.add(var)


def _out_of_scope(root: Expr) -> Iterator[Var]:
    """The variables used where they are not bound.

    Needs every variable to be bound once: a node is then out of scope on every path to it or on
    none but those that avoid the binder, so one visit with the scopes open at that time decides.
    """
    scope: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[tuple[str, Expr, tuple[Var, ...]]] = [("visit", root, ())]
    while stack:
        action, node, variables = stack.pop()
        if action == "open":
            scope.update(variables)
        elif action == "close":
            scope.difference_update(variables)
        elif isinstance(node, Var):
            if node not in scope:
                yield node
        elif node not in seen:
            seen.add(node)
            stack.extend(reversed(list(_steps(node))))


def _steps(node: Expr) -> Iterator[tuple[str, Expr, tuple[Var, ...]]]:
    """Yield the steps at a node, in order: visit children, open and close scopes."""
    match node:
        case Function():
            yield from _scoped(node.body, node.params)
        case Let():
            inside = (node.var,) if isinstance(node.value, Function) else ()
            yield from _scoped(node.value, inside)
            yield from _scoped(node.body, (node.var,))
        case Match():
            yield "visit", node.value, ()
            for clause in node.clauses:
                yield from _scoped(clause.body, tuple(pattern_vars(clause.pattern)))
        case _:
            for child in children(node):
                yield "visit", child, ()


def _scoped(body: Expr, variables: tuple[Var, ...]) -> Iterator[tuple[str, Expr, tuple[Var, ...]]]:
    yield "open", body, variables
    yield "visit", body, ()
    yield "close", body, variables


def _unbound(var: Var, places: Places) -> TypeInferenceError:
    return places.error(
        var,
        f"The variable %{var.name} is used where it is not bound.",
        label="not bound here",
        remedy="Bind it with let, or make it a parameter of the function.",
    )
