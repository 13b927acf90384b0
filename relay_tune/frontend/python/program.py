"""The functions and constants of the module that comes out of Python functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field, replace
from typing import Any

import numpy as np

from relay_tune.errors import INITIALIZER, NodeSpan
from relay_tune.ir.expr import Constant, Function, GlobalVar
from relay_tune.ir.module import Module
from relay_tune.quick_dataclass import dataclass

WEIGHT_NAMES = "_relay_weight_names"
"""The attribute of a class that names those of its objects that are weights."""


@dataclass(frozen=True)
class Wrapping:
    """An operator that makes another one of a function: of it, and of further functions.

    Attributes:
        operator: its name.
        functions: further ones, of Python.
    """

    operator: str
    functions: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class PythonFunction:
    """A Python function that is to be translated.

    Attributes:
        function: the function.
        base: the module whose definitions it may name.
        receiver: the object that its first parameter stands for, for methods; else None.
        wrappings: what is made of it, the first one innermost.
    """

    function: Callable[..., Any]
    base: Module
    receiver: object = None
    wrappings: tuple[Wrapping, ...] = ()

    @property
    def key(self) -> Hashable:
        """Key by which two translations are the same."""
        return (self.function, id(self.receiver), self.wrappings)

    @property
    def name(self) -> str:
        """Its name in Python."""
        return str(getattr(self.function, "__name__", "function"))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, without the receiver."""
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount]
        return names if self.receiver is None else names[1:]

    @property
    def defaults(self) -> dict[str, object]:
        """The default values of its last parameters, by name."""
        values = self.function.__defaults__ or ()
        names = self.parameters[len(self.parameters) - len(values) :]
        return dict(zip(names, values, strict=True))


@dataclass
class TranslatedProgram:
    """Finished translations, and those still to be made.

    Attributes:
        reserved: names that functions must not get: those of the library.
        functions: finished functions by name.
        sources: texts by file name, for messages.
        pending: functions that were mentioned and wait for their translation.
    """

    reserved: frozenset[str] = frozenset()
    functions: dict[str, Function] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    pending: list[tuple[str, PythonFunction]] = field(default_factory=list)
    _names: dict[Hashable, str] = field(default_factory=dict)
    _constants: dict[int, tuple[object, Constant]] = field(default_factory=dict)
    _weights: dict[int, tuple[object, str]] = field(default_factory=dict)

    def mention(self, function: PythonFunction, name: str | None = None) -> GlobalVar:
        """The global variable of a function, which will be translated."""
        if function.key not in self._names:
            chosen = self._unused(name or function.name)
            self._names[function.key] = chosen
            self.pending.append((chosen, function))
        return GlobalVar(self._names[function.key])

    def constant(self, value: np.ndarray) -> Constant:
        """The constant of an array; one array is one constant."""
        if id(value) not in self._constants:
            constant = Constant(np.array(value))
            if self.is_weight(value):
                name = self._weights[id(value)][1]
                constant = replace(constant, span=NodeSpan.of(name, INITIALIZER))
            self._constants[id(value)] = (value, constant)
        return self._constants[id(value)][1]

    def note_weight(self, owner: object, name: str, value: object) -> None:
        """Remember the name of an array that is a weight of its owner, a model."""
        if isinstance(value, np.ndarray) and name in getattr(owner, WEIGHT_NAMES, ()):
            self._weights.setdefault(id(value), (value, name))

    def is_weight(self, value: object) -> bool:
        """Whether an array is a weight of a model."""
        return id(value) in self._weights

    def _unused(self, name: str) -> str:
        taken = {*self._names.values(), *self.reserved}
        candidate, number = name, 1
        while candidate in taken:
            candidate, number = f"{name}_{number}", number + 1
        return candidate
