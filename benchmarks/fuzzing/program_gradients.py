"""Derivatives of random programs: both modes, native code, and differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from relay_tune.building.build import build
from relay_tune.errors import BuildError
from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import TensorType
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.transform.gradient.entry import differentiated
from relay_tune.transform.module_pass import rewrite_calls
from relay_tune.typing.infer import infer_types
from tests.properties.programs.random_program import random_program

STEP = 1e-6


def check_gradients(seed: int, native: bool = True) -> Iterator[str]:
    """What is wrong with the derivatives of a random program; nothing if it has no float input."""
    module, inputs = _wide(*random_program(seed))
    places = [i for i, param in enumerate(module.main.params) if _is_float(param.type)]
    if not places:
        return
    random = np.random.default_rng(seed)
    value = interpret(module, *inputs)
    weights = _with_leaves(value, lambda leaf: random.normal(size=leaf.shape))
    changes = [np.asarray(random.normal(size=np.shape(inputs[i]))) for i in places]
    backward = differentiated(module, wrt=places, mode="adjoint")
    forward = differentiated(module, wrt=places, mode="tangent")
    _, adjoints = _fields(interpret(backward, *inputs, weights))
    again, tangent = _fields(interpret(forward, *inputs, *changes))
    if not _are_close(_leaves(again), _leaves(value)):
        yield "forward mode changes the value"
    forwards = _dot(weights, tangent)
    backwards = sum(_dot(each, change) for each, change in zip(adjoints, changes, strict=True))
    if not np.isclose(forwards, backwards, rtol=1e-9, atol=1e-9, equal_nan=True):
        yield f"the modes differ: {forwards} forwards, {backwards} backwards"
    slopes = [_slope(module, inputs, places, changes, weights, step) for step in (STEP, -STEP)]
    if np.isclose(slopes[0], slopes[1], rtol=1e-4, atol=1e-4) and not np.isclose(
        forwards, slopes[0], rtol=1e-3, atol=1e-3
    ):
        yield f"differences give {slopes[0]}, forward mode {forwards}"
    if native:
        yield from _native(backward, (*inputs, weights), adjoints)


def _fields(value: Any) -> Any:
    """The fields of a tuple."""
    return value


def _native(module: Module, inputs: tuple[Any, ...], adjoints: Any) -> Iterator[str]:
    try:
        _, found = build(module, threads=1)(*inputs)
    except BuildError as error:
        yield f"native: {error}"
        return
    if not _are_close(_leaves(found), _leaves(adjoints)):
        yield "native code gives another gradient"


def _wide(module: Module, inputs: Any) -> tuple[Module, list[Any]]:
    """A program on numbers of 64 bits instead of 32."""

    def constant(node: Expr) -> Expr:
        if isinstance(node, Constant) and node.data.dtype == np.float32:
            return Constant(node.data.astype("float64"))
        return node

    text = rewrite_calls(module, constant).astext().replace("float32", "float64")
    wide = infer_types(parse(text))
    return wide, [_with_leaves(each, lambda leaf: leaf.astype("float64")) for each in inputs]


def _is_float(type_: Any) -> bool:
    return isinstance(type_, TensorType) and type_.dtype == "float64"


def _slope(
    module: Module,
    inputs: list[Any],
    places: list[int],
    changes: list[Any],
    weights: Any,
    step: float,
) -> float:
    """The difference quotient of the weighted result, in the direction of the changes."""
    moved = list(inputs)
    for place, change in zip(places, changes, strict=True):
        moved[place] = np.asarray(inputs[place]) + step * change
    after = _leaves(interpret(module, *moved))
    before = _leaves(interpret(module, *inputs))
    if [leaf.shape for leaf in after] != [leaf.shape for leaf in before]:
        return float("nan")
    pairs = zip(_leaves(weights), after, before, strict=True)
    return float(sum(np.sum(weight * (a - b)) for weight, a, b in pairs)) / step


def _with_leaves(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """A value with its arrays of floats changed."""
    match value:
        case tuple():
            return tuple(_with_leaves(part, change) for part in value)
        case ConstructorValue():
            return replace(value, fields=tuple(_with_leaves(p, change) for p in value.fields))
        case _:
            array = np.asarray(value)
            return np.asarray(change(array)) if array.dtype.kind == "f" else value


def _leaves(value: Any) -> list[np.ndarray]:
    """The arrays of floats in a value."""
    match value:
        case tuple():
            return [leaf for part in value for leaf in _leaves(part)]
        case ConstructorValue():
            return [leaf for part in value.fields for leaf in _leaves(part)]
        case _:
            array = np.asarray(value)
            return [array] if array.dtype.kind == "f" else []


def _dot(left: Any, right: Any) -> float:
    pairs = zip(_leaves(left), _leaves(right), strict=True)
    return float(sum(np.sum(one * other) for one, other in pairs))


def _are_close(found: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    return len(found) == len(wanted) and all(
        np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True)
        for one, other in zip(found, wanted, strict=True)
    )


def failures(seed: int, native: bool = True) -> list[str]:
    """What is wrong with a program, errors included."""
    try:
        return list(check_gradients(seed, native))
    except Exception as error:  # noqa: BLE001  # any failure is what is looked for
        return [f"{type(error).__name__}: {error}"]
