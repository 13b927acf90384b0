"""The Python objects that a function sees from where it was written."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from relay_tune.frontend.python.scope import Static

_BUILTINS = vars(builtins)


class Environment:
    """Closure, globals and built-in names of a function, looked up when they are needed.

    A function may so call others that are defined after it, and itself.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        code = getattr(function, "__code__", None)
        self._cells = dict(
            zip(
                getattr(code, "co_freevars", ()),
                getattr(function, "__closure__", None) or (),
                strict=False,
            )
        )
        self._globals = getattr(function, "__globals__", {})

    def find(self, name: str) -> Static | None:
        """The object called `name`, None if there is none (yet)."""
        if name in self._cells:
            try:
                return Static(self._cells[name].cell_contents)
            except ValueError:  # the enclosing function has not assigned it yet
                return None
        for names in (self._globals, _BUILTINS):
            if name in names:
                return Static(names[name])
        return None
