"""Functions with rules of their own, read from the calls that stand for them (`added_rules.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.op_rules.matching import attributes_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.stand_ins import (
    bindings_of,
    called,
    holds_cells,
    is_ruled,
    result_of,
)
from relay_tune.transform.gradient.typed_nodes import type_of
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.typing.relations.derivative_rules import is_differentiable


@dataclass(frozen=True)
class RuledFunction:
    """A function with a rule; calls are in its parameters.

    Attributes:
        name: of the function that stands for it.
        function: that one.
        captured: how many of its first parameters have no adjoints.
        value: the call that gives its value.
        forward, backward: those of the rule for adjoints; None where there is none.
        tangent: that of the rule for tangents.
    """

    name: str
    function: Function
    captured: int
    value: Call
    forward: Call | None
    backward: Call | None
    tangent: Call | None

    @staticmethod
    def of(name: str, function: Function) -> RuledFunction:
        """Read a function in A-normal form."""
        values = bindings_of(function.body)

        def meant(expr: Expr) -> Expr:
            while isinstance(expr, Var) and expr in values:
                expr = values[expr]
            return expr

        whole = meant(result_of(function.body))
        assert isinstance(whole, Call)
        value, adjoints, tangent = (meant(part) for part in whole.arguments)
        assert isinstance(value, Call)
        forward = None
        if isinstance(adjoints, Call):
            left = meant(adjoints.arguments[-2])
            assert isinstance(left, TupleGetItem)
            forward = meant(left.tuple_value)
        captured = attributes_of(whole).captured
        return RuledFunction(
            name, function, captured, value, _call(forward), _call(adjoints), _call(tangent)
        )

    @property
    def differentiable(self) -> tuple[int, ...]:
        """The indices of the parameters with adjoints."""
        params = list(enumerate(self.function.params))[self.captured :]
        return tuple(index for index, param in params if is_differentiable(type_of(param)))

    def written(self) -> Expr:
        """The value, as a call of what the operators for rules give."""
        own = self.function.params[self.captured :]
        found: Expr = fresh_copy(Function(own, self.value))
        if self.forward is not None and self.backward is not None:
            left = (Var("left"), Var("d"))
            back = replace(self.backward, arguments=(*self.backward.arguments[:-2], *left))
            parts = fresh_copy(Function(own, self.forward)), fresh_copy(Function(left, back))
            found = _required(find_operator("custom_vjp"))(found, *parts)
        if self.tangent is not None:
            indices = [index - self.captured for index in self.differentiable]
            changes = tuple(Var(f"d_{own[n].name}", type_of(own[n])) for n in indices)
            first = self.tangent.arguments[: len(self.tangent.arguments) - len(changes)]
            call = replace(self.tangent, arguments=(*first, *changes))
            rule = fresh_copy(Function((*own, *changes), call))
            found = _required(find_operator("custom_jvp"))(found, rule)
        return Call(found, own, span=self.function.span)

    def called(self, call: Call, arguments: Sequence[Expr], more: Sequence[Expr] = ()) -> Call:
        """One of its calls for other arguments, with `more` for the last ones."""
        return called(self.function, call, arguments, more)

    def require_constant(self, active: Iterable[int], types: AdjointTypes) -> None:
        """BuildError where captured variables change, for which the rule has no adjoints."""
        for index in active:
            if index < self.captured:
                raise self._refusal(self.function.params[index], "changes")
        for param in self.function.params[: self.captured]:
            if holds_cells(type_of(param), types):
                raise self._refusal(param, "holds a cell")

    def _refusal(self, param: Var, what: str) -> BuildError:
        return BuildError(
            f"A function with a rule for its derivatives captures %{param.name}, which {what}.",
            where=self.function.span,
            notes=("A rule has adjoints of parameters, and of nothing else.",),
            remedy=f"Make %{param.name} a parameter of the function and of its rule.",
        )


def ruled_functions(module: Module) -> dict[str, RuledFunction]:
    """Those of a module in A-normal form, by name."""
    return {
        name: RuledFunction.of(name, function)
        for name, function in module.functions.items()
        if is_ruled(function)
    }


def _required(operator: Operator | None) -> Operator:
    assert operator is not None
    return operator


def _call(value: Expr | None) -> Call | None:
    assert value is None or isinstance(value, Call | Tuple)
    return value if isinstance(value, Call) else None
