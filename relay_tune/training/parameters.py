"""Trainable constants of a network, and the network with them as inputs.

The weights of an ONNX file have its names, those of a Python model the names of the attributes;
constants of other programs are numbered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from relay_tune.arguments import did_you_mean
from relay_tune.errors import CONSTANT, INITIALIZER, InputError, NodeSpan
from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.op_rules.matching import is_float
from relay_tune.training.opened import opened
from relay_tune.training.statistics import moved_constants, moving_constants
from relay_tune.typing.infer import infer_types


def parameters_of(module: Module) -> dict[str, np.ndarray]:
    """The constants that are trained unless others are named: tensors of floats, no scalars."""
    typed = infer_types(module)
    return {name: constant.data for name, constant in _constants(typed).items()}


def scalars_of(module: Module) -> dict[str, np.ndarray]:
    """The numbers among the weights of a file or Python model, by name.

    Some are weights (a temperature), others are not to change (an epsilon), so that they are
    trained only where they are named.
    """
    typed = infer_types(module)
    return {name: constant.data for name, constant in _scalars(typed).items()}


def no_parameter(name: str, known: Iterable[str]) -> InputError:
    """The error where a program has no parameter of a name, but those that are known."""
    names = list(known)
    return InputError(
        f"The program has no parameter {name!r}.",
        notes=(
            f"Its parameters are: {', '.join(names) or 'none'}.",
            "Of a file, what is computed of weights alone, as exp(t), has no name.",
        ),
        remedy=did_you_mean(name, names, "Name some of these."),
    )


def with_parameters(module: Module, names: Iterable[str] | None = None) -> Module:
    """The typed module in which constants are inputs of @main, behind those that it has.

    Args:
        module: a network.
        names: of `parameters_of` or `scalars_of` it; None: all parameters.

    Raises InputError for a name that there is not, or that several weights of a file have.
    """
    typed = infer_types(module)
    parameters = _constants(typed)
    known = parameters | _scalars(typed)
    chosen = list(parameters) if names is None else list(names)
    for name in chosen:
        if name not in known:
            raise no_parameter(name, known)
    _require_single(typed, [known[name] for name in chosen])
    return infer_types(opened(typed, {known[name]: name for name in chosen}))


def with_values(module: Module, values: Mapping[str, np.ndarray]) -> Module:
    """The typed module with other values of parameters, scalars and statistics, by name."""
    typed = infer_types(module)
    known = _constants(typed) | _scalars(typed) | _moving(typed)
    new = {known[name]: replace(known[name], data=values[name]) for name in values}

    def changed(node: Expr) -> Expr:
        return new.get(node, node) if isinstance(node, Constant) else node

    functions = {
        name: replace(function, body=rewrite(function.body, changed))
        for name, function in typed.functions.items()
    }
    return infer_types(replace(typed, functions=functions))


def statistics_of(module: Module) -> dict[str, np.ndarray]:
    """The constants of @main that training changes as moving statistics, by name."""
    return {name: constant.data for name, constant in _moving(infer_types(module)).items()}


def with_statistics(module: Module) -> Module:
    """The typed module in which `statistics_of` it are inputs of @main, behind those it has."""
    typed = infer_types(module)
    return infer_types(opened(typed, {each: name for name, each in _moving(typed).items()}))


def _moving(module: Module) -> dict[str, Constant]:
    taken = {param.name for param in module.main.params}
    return {
        _free_name(_given_name(node) or f"statistic_{number}", taken): node
        for number, node in enumerate(moved_constants(module.main.body))
    }


def _require_single(module: Module, chosen: Iterable[Constant]) -> None:
    """InputError where a name is that of several constants: they would be trained apart."""
    names = Counter(map(_given_name, _nodes(module)))
    for constant in chosen:
        name = _given_name(constant)
        if name is not None and names[name] > 1:
            raise InputError(
                f"{names[name]} weights are called {name!r}, as where each branch of a file has "
                "one: they would be trained apart.",
                remedy="Give them names of their own, or train the other weights.",
            )


def _constants(module: Module) -> dict[str, Constant]:
    """Those that can be trained, by name, in the order of the program.

    Of a program with weights these alone: what it makes besides, no training is to change. Of a
    file without weights they are the values of its nodes Constant, and what is made of these.
    """
    moving = set(moving_constants(*_bodies(module)))
    floats = [
        node
        for node in _nodes(module)
        if isinstance(node, Constant) and is_float(node) and node.data.ndim and node.data.size
        if node not in moving and not _is_of_an_operator(node)
    ]
    weights = [node for node in floats if _given_name(node) is not None]
    taken = {param.name for param in module.main.params}
    return {
        _free_name(_given_name(node) or f"weight_{number}", taken): node
        for number, node in enumerate(weights or floats)
    }


def _scalars(module: Module) -> dict[str, Constant]:
    """The scalars of floats that have a name of their own, by it."""
    taken = {param.name for param in module.main.params} | set(_constants(module))
    return {
        name: node
        for node in _nodes(module)
        if isinstance(node, Constant) and is_float(node) and not node.data.ndim
        if (name := _given_name(node)) is not None and name not in taken
    }


def _nodes(module: Module) -> Iterator[Expr]:
    """Every node of a program once: those of @main, then those of other functions."""
    return post_order(*_bodies(module))


def _bodies(module: Module) -> list[Expr]:
    """That of @main, then those of other functions."""
    others = (each.body for name, each in module.functions.items() if name != "main")
    return [module.main.body, *others]


def _given_name(node: Expr) -> str | None:
    """The name of a weight in its ONNX file or Python model; None for other nodes."""
    if not isinstance(node, Constant) or not isinstance(node.span, NodeSpan):
        return None
    return node.span.name if node.span.operator == INITIALIZER else None


def _is_of_an_operator(node: Constant) -> bool:
    """Whether the meaning of a node of a file says what the constant is: coefficients of Resize."""
    return isinstance(node.span, NodeSpan) and node.span.operator not in (INITIALIZER, CONSTANT)


def _free_name(name: str, taken: set[str]) -> str:
    """The name itself, or with a number; it is taken afterwards."""
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
