"""Type inference: every expression of a program gets its type.

Constraints come from a walk over the program; the solver unifies types and runs the type
relations of operators, forward and backward; then the types are written into a new program.
Functions are typed in groups that use each other, and a group after those that it uses.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.arguments import instance_of
from relay_tune.errors import RelayError
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.types import Type
from relay_tune.typing.call_graph import recursive_groups, used_globals
from relay_tune.typing.generalize import generalize
from relay_tune.typing.kind_check import check_kind
from relay_tune.typing.match_cases import check_matches
from relay_tune.typing.places import describe
from relay_tune.typing.solver import PendingRelation
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_text import type_text
from relay_tune.typing.typed_tree import TypedTree
from relay_tune.typing.walk import Walk, close_recursion, recursive_type


def infer_types(module: Module) -> Module:
    """The module with the type of every expression filled in; what was typed already is kept.

    Type parameters that were not written are found and added to functions, type arguments to
    calls. Raises TypeInferenceError with the location, types and what to do; InputError for what
    is no module.
    """
    state = InferenceState(require_module(module))
    _check_data_types(state)
    for group in recursive_groups(module):
        _infer_group(state, group)
    check_matches(state)
    tree = TypedTree(state)
    functions: dict[str, Function] = {}
    for name, function in module.functions.items():
        state.places.function = name
        typed = tree.write(function)
        functions[name] = typed if isinstance(typed, Function) else function
    return replace(module, functions=functions)


def infer_expr(expr: Expr, module: Module | None = None) -> Expr:
    """The expression with all types filled in; annotated variables may be free in it.

    `module` gives the functions and data types that it mentions. Raises TypeInferenceError.
    """
    instance_of(Expr, expr, "The expression", "Read one with parse_expr(text).")
    state = InferenceState(
        Module({}) if module is None else require_module(module), allow_free=True
    )
    if module is not None:
        state.global_types = _global_types(expr, module)
    state.solver.level += 1
    Walk(state).run(expr)
    state.solver.level -= 1
    if isinstance(expr, Function):
        generalize(state, (expr,))
    _require_solved(state)
    check_matches(state)
    return TypedTree(state).write(expr)


def _global_types(expr: Expr, module: Module) -> dict[str, Type]:
    """The types of the functions that `expr` mentions, inferred if they are not known."""
    used = [name for name in used_globals(expr) if name in module.functions]
    if any(module.functions[name].type is None for name in used):
        module = infer_types(module)
    types = {name: module.functions[name].type for name in used}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def _infer_group(state: InferenceState, group: tuple[str, ...]) -> None:
    """Type functions that use each other; their types are general only afterwards."""
    functions = [state.module.functions[name] for name in group]
    state.solver.level += 1
    assumed = [recursive_type(state, function) for function in functions]
    state.global_types.update(zip(group, assumed, strict=True))
    for name, function, type_ in zip(group, functions, assumed, strict=True):
        state.places.function = name
        found = Walk(state).run(function)
        context = f"The uses of @{name} in its own body do not fit its type"
        close_recursion(state, function, type_, found, context)
    state.solver.level -= 1
    _require_solved(state)
    generalize(state, functions)
    for name, function in zip(group, functions, strict=True):
        state.global_types[name] = state.solver.resolve(state.types[function])


def _require_solved(state: InferenceState) -> None:
    """Raise TypeInferenceError if a relation never learned enough of its inputs."""
    for relation in state.solver.unsolved():
        raise state.places.error(
            relation.node,
            f"The type of the {describe(relation.node)} cannot be inferred: "
            f"{_missing(state, relation)}.",
            label="not enough is known",
            remedy="Annotate the variables that it uses with their types.",
        )


def _missing(state: InferenceState, relation: PendingRelation) -> str:
    node = relation.node
    types = [state.solver.resolve(type_) for type_ in relation.inputs]
    names = getattr(node.callee, "arguments", ()) if isinstance(node, Call) else ("tuple",)
    known = [f"{name}: {type_text(type_)}" for name, type_ in zip(names, types, strict=True)]
    return f"what is known of its arguments is ({', '.join(known)})"


def _check_data_types(state: InferenceState) -> None:
    """Raise TypeInferenceError if a field of a constructor has a malformed type."""
    for data in state.module.types.values():
        for constructor in data.constructors:
            for field in constructor.inputs:
                try:
                    check_kind(field, state.module)
                except RelayError as error:
                    context = f"A field of the constructor {constructor.name} is malformed"
                    raise state.places.wrap(constructor, context, error) from error
