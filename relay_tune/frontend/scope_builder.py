"""Programs with lets and branches, built step by step.

builder = ScopeBuilder()
doubled = builder.let("doubled", x + x)          let %doubled = add(%x, %x);
with builder.if_scope(condition):                if (%condition) {
    builder.ret(doubled)                           %doubled
with builder.else_scope():                       } else {
    builder.ret(x)                                 %x
expr = builder.get()                             }
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from relay_tune.errors import InputError
from relay_tune.ir.expr import Expr, If, Let, Var
from relay_tune.ir.types import Type
from relay_tune.quick_dataclass import dataclass


@dataclass
class _Scope:
    """One block: its lets, its value, and a branch that waits for its other half."""

    lets: list[tuple[Var, Expr]] = field(default_factory=list)
    value: Expr | None = None
    waiting: tuple[Expr, Expr] | None = None

    def finished(self) -> Expr:
        """The block as an expression; InputError if it has no value."""
        if self.value is None:
            raise InputError(
                "A scope has no value." if self.waiting is None else "An if has no else.",
                remedy="Give the scope a value with ret, and each if an else scope.",
            )
        result = self.value
        for var, value in reversed(self.lets):
            result = Let(var, value, result)
        return result


class ScopeBuilder:
    """Builds an expression from the outside in."""

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def let(self, name: str | Var, value: Expr, type_: Type | None = None) -> Var:
        """Bind a new variable (or the given one) to `value`, up to the end of the scope."""
        self._open_scope()
        var = name if isinstance(name, Var) else Var(name, type_)
        self._scopes[-1].lets.append((var, value))
        return var

    @contextmanager
    def if_scope(self, condition: Expr) -> Iterator[None]:
        """The branch for a true condition; an `else_scope` must follow."""
        outer = self._open_scope()
        self._scopes.append(_Scope())
        yield
        outer.waiting = (condition, self._scopes.pop().finished())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """The branch for a false condition; both together are the value of the scope."""
        outer = self._scopes[-1]
        if outer.waiting is None:
            raise InputError(
                "An else_scope follows an if_scope.",
                remedy="Open `with builder.if_scope(condition):` first.",
            )
        self._scopes.append(_Scope())
        yield
        condition, true_branch = outer.waiting
        outer.waiting = None
        outer.value = If(condition, true_branch, self._scopes.pop().finished())

    def ret(self, value: Expr) -> None:
        """Make `value` the value of the scope."""
        self._open_scope().value = value

    def get(self) -> Expr:
        """The expression that was built; InputError if it is not finished."""
        if len(self._scopes) > 1:
            raise InputError(
                "A scope is still open.",
                remedy="Ask for the result after the `with` blocks have ended.",
            )
        return self._scopes[0].finished()

    def _open_scope(self) -> _Scope:
        scope = self._scopes[-1]
        if scope.value is not None:
            raise InputError(
                "The scope has its value already; nothing can follow.",
                remedy="Make `ret` the last call of its scope.",
            )
        if scope.waiting is not None:
            raise InputError(
                "An if_scope must be followed by its else_scope.",
                remedy="Write `with builder.else_scope():` right after it.",
            )
        return scope
