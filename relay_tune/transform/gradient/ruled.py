"""Functions with rules of their own, read from the calls that stand for them (`added_rules.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import RefType, Type
from relay_tune.op_rules.gradient.requests import RULED
from relay_tune.op_rules.matching import attributes_of
from relay_tune.transform.gradient.adjoint_types import AdjointTypes, header_of
from relay_tune.transform.gradient.swept import substituted
from relay_tune.transform.gradient.typed_nodes import type_of
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.relations.derivative_rules import is_differentiable
from relay_tune.typing.type_terms import parts


def is_ruled(function: Function) -> bool:
    """Whether a function stands for one with a rule."""
    return RULED.rule_of(_result(function.body)) is not None


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
        values = _bindings(function.body)

        def meant(expr: Expr) -> Expr:
            while isinstance(expr, Var) and expr in values:
                expr = values[expr]
            return expr

        whole = meant(_result(function.body))
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
        """The places of the parameters with adjoints."""
        params = list(enumerate(self.function.params))[self.captured :]
        return tuple(place for place, param in params if is_differentiable(type_of(param)))

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
            places = [place - self.captured for place in self.differentiable]
            changes = tuple(Var(f"d_{own[n].name}", type_of(own[n])) for n in places)
            first = self.tangent.arguments[: len(self.tangent.arguments) - len(changes)]
            call = replace(self.tangent, arguments=(*first, *changes))
            rule = fresh_copy(Function((*own, *changes), call))
            found = _required(find_operator("custom_jvp"))(found, rule)
        return Call(found, own, span=self.function.span)

    def called(self, call: Call, arguments: Sequence[Expr], more: Sequence[Expr] = ()) -> Call:
        """One of its calls for other arguments, with `more` for the last ones."""
        known: Mapping[Expr, Expr] = dict(zip(self.function.params, arguments, strict=True))
        first = call.arguments[: len(call.arguments) - len(more)]
        given = (*(known.get(each, each) for each in first), *more)
        return replace(call, arguments=given)

    def require_constant(self, active: Iterable[int], types: AdjointTypes) -> None:
        """BuildError where captured variables change, for which the rule has no adjoints."""
        for place in active:
            if place < self.captured:
                raise self._refusal(self.function.params[place], "changes")
        for param in self.function.params[: self.captured]:
            if _holds_cells(type_of(param), types):
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


def without_rules(module: Module) -> Module:
    """The module in which functions that stand for others call these, and nothing else."""
    functions = {
        name: with_body(function, _value(function)) if is_ruled(function) else function
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)


def with_rules(module: Module) -> Module:
    """The module in which functions that stand for others with a rule say so, as users do."""
    ruled = ruled_functions(module)
    functions = {
        name: with_body(function, ruled[name].written()) if name in ruled else function
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)


def rule_names(module: Module) -> set[str]:
    """The functions that functions with rules consist of."""
    return {
        node.callee.name
        for function in module.functions.values()
        if is_ruled(function)
        for node in post_order(function.body)
        if isinstance(node, Call) and isinstance(node.callee, GlobalVar)
    }


def _value(function: Function) -> Expr:
    values = _bindings(function.body)
    whole = _result(function.body)
    assert isinstance(whole, Call)
    used: dict[Expr, Expr] = {var: each for var, each in values.items()}  # noqa: C416
    value = whole.arguments[0]
    return substituted(used.get(value, value), used)


def _required(operator: Operator | None) -> Operator:
    assert operator is not None
    return operator


def _result(body: Expr) -> Expr:
    while isinstance(body, Let):
        body = body.body
    return body


def _bindings(body: Expr) -> dict[Var, Expr]:
    values = {}
    while isinstance(body, Let):
        values[body.var] = body.value
        body = body.body
    return values


def _call(value: Expr | None) -> Call | None:
    assert value is None or isinstance(value, Call | Tuple)
    return value if isinstance(value, Call) else None


def _holds_cells(type_: Type, types: AdjointTypes) -> bool:
    """Whether cells are reached from a value of a type."""
    seen: set[Type] = set()
    pending = [type_]
    while pending:
        current = pending.pop()
        if isinstance(current, RefType):
            return True
        if current in seen:
            continue
        seen.add(current)
        pending += parts(current)
        header = header_of(current)
        if header is not None and header.name in types.types:
            for constructor in types.types[header.name].constructors:
                pending += types.constructor_fields(constructor, current)
    return False
