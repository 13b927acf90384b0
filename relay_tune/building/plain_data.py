"""Tensor programs as JSON, for processes that plan them.

Nodes stand in a list, each after those that it refers to by number, so that sharing is kept. Of
constants there are shapes and element types only: planning asks for no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from relay_tune.errors import BuildError
from relay_tune.ir.dim import Polynomial, PositivePart, Quotient, Symbol
from relay_tune.machine.coefficients import Coefficients
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.machine.machine import Machine, Memory, MemoryScope, VectorUnit
from relay_tune.machine.pattern import WordSteps
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.targets.registry import intrinsic_named
from relay_tune.tensor import expression, loops, tensor
from relay_tune.tensor.deferred_array import DeferredArray, deferred
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.size import SymbolicSize

_CLASSES: Mapping[str, type[Any]] = MappingProxyType(
    {
        node.__name__: node
        for node in (
            *(expression.Axis, expression.Literal, expression.Load, expression.Unary),
            *(expression.Binary, expression.Select, expression.Cast, expression.Reinterpret),
            *(expression.Word, expression.Reduce, loops.LaneReduce, loops.Buffer),
            *(tensor.Input, tensor.Computed, tensor.Procedure, tensor.ProcedureOutput),
            *(loops.Block, loops.Loop, loops.Let, loops.Store, loops.Prefetch, loops.Branch),
            *(loops.While, loops.Allocate),
            *(TensorProgram, Machine, Memory, VectorUnit, WordSteps, Coefficients),
            *(SymbolicSize, Symbol, Polynomial, Quotient, PositivePart),
        )
    }
)
_ENUMERATIONS: Mapping[str, type[Enum]] = MappingProxyType(
    {each.__name__: each for each in (loops.BufferScope, loops.LoopKind, Accuracy, MemoryScope)}
)
_FIELDS = {
    node: SymbolicSize.__slots__
    if node is SymbolicSize
    else tuple(field.name for field in fields(node) if field.init)
    for node in _CLASSES.values()
}
_PLAIN = (bool, int, float, str, type(None))

Json: TypeAlias = Any


class _NotPlainError(Exception):
    """Something is part of a program that has no form in JSON."""


def encoded(root: object) -> str | None:
    """The text of a program, a machine, or a tuple; None where a part has no such form.

    As the nodes of somebody else have none.
    """
    try:
        return _Encoder().text(root)
    except _NotPlainError:
        return None


class _Encoder:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._nodes: list[Json] = []

    def text(self, root: object) -> str:
        pending = list(_nodes_in(root))
        while pending:
            node = pending[-1]
            values = [getattr(node, name) for name in _FIELDS[type(node)]]
            inner = [n for v in values for n in _nodes_in(v) if id(n) not in self._numbers]
            if inner:
                pending += inner
                continue
            pending.pop()
            if id(node) not in self._numbers:
                self._numbers[id(node)] = len(self._nodes)
                self._nodes.append([type(node).__name__, *map(self._value, values)])
        return json.dumps([self._nodes, self._value(root)])

    def _value(self, value: object) -> Json:
        if type(value) in _PLAIN:
            return value
        if id(value) in self._numbers:
            return {"node": self._numbers[id(value)]}
        if isinstance(value, tuple):
            return [self._value(part) for part in value]
        if isinstance(value, Enum) and type(value).__name__ in _ENUMERATIONS:
            return {"enumeration": type(value).__name__, "name": value.name}
        if isinstance(value, Intrinsic) and intrinsic_named(value.key) is not None:
            return {"intrinsic": value.key, "cycles": value.cycles}
        if isinstance(value, np.ndarray | DeferredArray):
            return {"array": value.dtype.name, "shape": [self._value(n) for n in value.shape]}
        raise _NotPlainError


def _nodes_in(value: object) -> Iterator[Any]:
    """The nodes in a value, those in tuples included."""
    if type(value) in _FIELDS:
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes_in(part)


def decoded(text: str) -> Any:
    """What `encoded` made a text of; the elements of arrays are missing."""
    nodes: list[object] = []
    listed, root = json.loads(text)

    def value(given: Json) -> object:
        if isinstance(given, list):
            return tuple(map(value, given))
        if not isinstance(given, dict):
            return given
        if "node" in given:
            return nodes[given["node"]]
        if "intrinsic" in given:
            return replace(_intrinsic(given["intrinsic"]), cycles=given["cycles"])
        if "array" in given:
            return deferred(tuple(given["shape"]), given["array"], _missing)
        return _ENUMERATIONS[given["enumeration"]][given["name"]]

    for name, *values in listed:
        node = _CLASSES[name]
        nodes.append(node(**dict(zip(_FIELDS[node], map(value, values), strict=True))))
    return value(root)


def _intrinsic(key: str) -> Intrinsic:
    found = intrinsic_named(key)
    if found is None:
        raise BuildError(f"The intrinsic {key!r} is not installed in a process that plans.")
    return found


def _missing() -> Array:
    raise BuildError("The elements of a constant are wanted where its shape alone is known.")
