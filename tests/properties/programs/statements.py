"""Sequences of bindings and writes in random programs."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.ir.expr import (
    Expr,
    Let,
    RefCreate,
    RefWrite,
    Var,
)
from relay_tune.ir.types import (
    RefType,
    Type,
)
from tests.properties.programs.functions import Functions
from tests.properties.programs.program_types import (
    INT,
    contains_function,
)
from tests.properties.programs.scope import Scope, Signature

Bound = tuple[Var, Expr, Scope]
Statement = Callable[[Scope, int], Bound | None]


class Statements(Functions):
    """Makes statements: bindings of values, cells and functions, and writes to cells."""

    def block(
        self, scope: Scope, statements: int, depth: int, end: Callable[[Scope], Expr]
    ) -> Expr:
        """A sequence of bindings and writes; `end` makes the value, in the scope after them."""
        bindings: list[tuple[Var, Expr]] = []
        whole = self.fuel
        share = whole // (statements + 1)
        for _ in range(statements):
            self.fuel = share
            made = self.rng.choice(self._statements())(scope, depth)
            whole -= share - self.fuel
            if made is not None:
                bindings.append(made[:2])
                scope = made[2]
        self.fuel = whole
        value = end(scope)
        for var, bound in reversed(bindings):
            value = Let(var, bound, value)
        return value

    def _statements(self) -> tuple[Statement, ...]:
        return (
            self._bind,
            self._bind,
            self._bind_call,
            self._bind_call,
            self._bind_cell,
            self._write,
            self._write,
            self._bind_recursive,
            self._bind_polymorphic,
        )

    def _block(self, type_: Type, scope: Scope, depth: int) -> Expr:
        count = self.rng.choice((1, 1, 2, 3))
        return self.block(scope, count, depth, lambda inner: self.expression(type_, inner, depth))

    def _bind(self, scope: Scope, depth: int) -> Bound:
        bound = self.signature_type(scope)
        var = Var(self.rng.choice("abcdxyz"), bound if self.rng.random() < 0.4 else None)
        value = self.expression(bound, scope.inner(), depth)
        return var, value, scope.binding((var, bound))

    def _bind_call(self, scope: Scope, depth: int) -> Bound | None:
        """Bind the result of a function that has a name, of those made last mostly."""
        fitting = [known for known in scope.functions if self._is_affordable(known, scope)]
        if not fitting:
            return None
        called = self.rng.choice(fitting[-self.rng.choice((2, 4, 20)) :])
        call, result = self._call(called, {}, scope, depth)
        var = Var(self.rng.choice("efgh"), result if self.rng.random() < 0.2 else None)
        return var, call, scope.binding((var, result))

    def _bind_cell(self, scope: Scope, depth: int) -> Bound | None:
        held = self.signature_type(scope, 1)
        if contains_function(held):
            return None
        var = Var("cell")
        value = RefCreate(self.expression(held, scope.inner(), depth))
        return var, value, scope.binding((var, RefType(held)))

    def _write(self, scope: Scope, depth: int) -> Bound | None:
        cells = [found for found in scope.variables if isinstance(found.type, RefType)]
        if not cells:
            return None
        cell = self.rng.choice(cells)
        assert isinstance(cell.type, RefType)
        value = self.expression(cell.type.value, scope.inner(), depth)
        return Var("_"), RefWrite(cell.expr, value), scope.inner()

    def _bind_recursive(self, scope: Scope, depth: int) -> Bound:
        var = Var("loop")
        result = self.signature_type(scope, 1)
        params = (INT, *(self.signature_type(scope, 1) for _ in range(self.rng.randint(0, 2))))
        before = self.cost
        function = self.counting_function(var, params, result, scope, depth)
        signature = Signature(var, params, result, counts=True, cost=self.cost - before)
        self.cost = before
        return var, function, scope.declaring(signature)

    def _bind_polymorphic(self, scope: Scope, depth: int) -> Bound:
        var = Var("general")
        signature, function = self.polymorphic_function(var, scope, min(depth, 3))
        return var, function, scope.declaring(signature)
