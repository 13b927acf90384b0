"""Meanings of a Python function's names at a point of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, TypeAlias

from relay_tune.ir.expr import Expr
from relay_tune.ir.types import Type
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Static:
    """A Python object that is known while the function is translated."""

    value: Any


Meaning: TypeAlias = Expr | Static
"""An expression whose value is known when the program runs, or a Python object."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that has a value on some ways to this point only; `reason` says which."""

    reason: str


@dataclass(frozen=True)
class NameScope:
    """The local names; assignments make a new scope.

    `declared` holds the types that annotated assignments gave to names.
    """

    names: Mapping[str, Meaning | Missing] = field(default_factory=dict)
    declared: Mapping[str, Type] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def find(self, name: str) -> Meaning | Missing | None:
        """Return the meaning of a local name, None if there is no such name."""
        return self.names.get(name)

    def has(self, name: str) -> bool:
        """Whether a name certainly has a value."""
        return isinstance(self.names.get(name), Expr | Static)

    def bind(self, name: str, meaning: Meaning | Missing) -> NameScope:
        """This scope with a new meaning of `name`."""
        return replace(self, names={**self.names, name: meaning})

    def declare(self, name: str, type_: Type) -> NameScope:
        """This scope with a declared type of `name`."""
        return replace(self, declared={**self.declared, name: type_})
