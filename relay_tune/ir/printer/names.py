"""Unique names for the variables of one printed definition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from relay_tune.ir.expr import Var
from relay_tune.ir.types import TypeVar

_NUMBER = re.compile(r"(?<=.)_\d+$")


class Names:
    """Gives each variable a name of its own: the one it has, or that with another number."""

    def __init__(self, type_names: Iterable[str]) -> None:
        self._of: dict[Var | TypeVar, str] = {}
        self._taken: set[str] = set()
        self._types_taken: set[str] = set(type_names)
        self._next: dict[str, int] = {}

    def variable(self, var: Var) -> str:
        """The name of a variable, without its sigil."""
        return self._name(var, self._taken)

    def type_variable(self, variable: TypeVar) -> str:
        """The name of a type parameter."""
        return self._name(variable, self._types_taken)

    def _name(self, variable: Var | TypeVar, taken: set[str]) -> str:
        if variable not in self._of:
            self._of[variable] = self._unique(variable.name, taken)
        return self._of[variable]

    def _unique(self, name: str, taken: set[str]) -> str:
        if name not in taken:
            taken.add(name)
            return name
        stem = _NUMBER.sub("", name)  # a name that was read may have its number from here
        for number in count(self._next.get(stem, 1)):
            candidate = f"{stem}_{number}"
            if candidate not in taken:
                self._next[stem] = number + 1
                taken.add(candidate)
                return candidate
        raise AssertionError("count() never ends")
