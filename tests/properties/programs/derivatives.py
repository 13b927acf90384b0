"""Random programs with more that derivatives have to do with.

They ask for derivatives of their own closures and functions, and have tensors of open sizes.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.ir.expr import Call, Expr, TupleGetItem
from relay_tune.ir.types import FuncType, TensorType, Type
from tests.properties.programs.generator import Generator, Production
from tests.properties.programs.open_sizes import OPEN_FUNCTIONS, open_expression
from tests.properties.programs.program_types import FLOAT, TENSORS
from tests.properties.programs.scope import Scope
from tests.properties.programs.tensors import operate

FLOATS = tuple(type_ for type_ in TENSORS if type_.dtype == FLOAT.dtype)


class WithDerivatives(Generator):
    """Makes tensors that are derivatives, too, squeezed into the range of all others."""

    also = OPEN_FUNCTIONS

    def _weighted(self) -> list[tuple[float, Production]]:
        return [*super()._weighted(), (3.0, self._derivative), (3.0, self._open)]

    def _open(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        """A tensor that is made of others whose sizes are open."""
        if type_ not in FLOATS or not isinstance(type_, TensorType):
            return None
        return open_expression(
            self.rng, type_, lambda wanted: self.expression(wanted, scope, depth)
        )

    def _derivative(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        """A derivative with regard to a tensor, or in the direction of one."""
        if type_ not in FLOATS or depth <= 0:
            return None
        mode = self.rng.choice(("grad", "vjp", "jvp"))
        results = {"grad": FLOAT, "vjp": self.rng.choice(FLOATS), "jvp": type_}
        changed = self.rng.choice(FLOATS) if mode == "jvp" else type_
        given = {"grad": (), "vjp": (results["vjp"],), "jvp": (changed,)}
        others = (self.signature_type(scope, 1) for _ in range(self.rng.choice((0, 1, 1))))
        params = (changed, *others)
        # A function that asks for its own derivative has none, so that nothing recurs in there.
        function = self.expression(
            FuncType(params, results[mode]), replace(scope.inner(), recursion=[]), depth
        )
        arguments = self._arguments((*params, *given[mode]), scope, depth)
        found = TupleGetItem(Call(operate(mode, function, wrt=(0,)), arguments), 1)
        return operate("tanh", found if mode == "jvp" else TupleGetItem(found, 0))
