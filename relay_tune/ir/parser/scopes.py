"""Names in nested scopes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Scopes(Generic[Value]):
    """A table of names; `leave` takes back what was bound since the matching `enter`."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._undo: list[tuple[str, Value | None]] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def find(self, name: str) -> Value | None:
        """The meaning of `name` here, or None."""
        return self._values.get(name)

    def bind(self, name: str, value: Value) -> None:
        """Give `name` a meaning, up to the end of the scope."""
        self._undo.append((name, self._values.get(name)))
        self._values[name] = value

    def enter(self) -> int:
        """Open a scope; the mark is for `leave`."""
        return len(self._undo)

    def leave(self, mark: int) -> None:
        """Close the scope that `enter` opened with this mark."""
        while len(self._undo) > mark:
            name, previous = self._undo.pop()
            if previous is None:
                del self._values[name]
            else:
                self._values[name] = previous
