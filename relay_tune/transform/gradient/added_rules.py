"""Functions of the module that stand for functions with rules of their own.

before:
    %0 = custom_vjp(@f, @forward, @backward);
    %0(%x)

after:
    @f_ruled(%x)

    def @f_ruled(%x: float32) {
      %value = @f(%x);
      %run = @forward(%x);
      %adjoints = @backward(%run.1, %value);      the value, for an adjoint: both have its type
      ruled(%value, %adjoints, ())
    }

Only the value is ever computed like that. The other calls say which functions compute derivatives,
and pass through all that passes do with calls, closures becoming data among it.

A rule for one mode is one for the other as well. Adjoints are linear in the adjoint of the result,
and the adjoint of that linear function is forward mode; from the other side it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import FuncType, TupleType, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.typed_nodes import type_of
from relay_tune.typing.relations.derivative_rules import is_differentiable


@dataclass(frozen=True, slots=True)
class Target:
    """A function of the module, and what is known of its leading parameters."""

    name: str
    captured: tuple[Var, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedTarget:
    """The same, with the type that it has for its other parameters."""

    target: Target
    type: FuncType

    def __call__(self, captured: dict[Var, Var], arguments: Sequence[Expr]) -> Call:
        """A call; `captured` are the variables that stand for what it captured."""
        first = (captured[var] for var in self.target.captured)
        return Call(GlobalVar(self.target.name), (*first, *arguments))


Pullback = Callable[[TypedTarget, tuple[int, ...]], str]
"""pullback(function, indices) -> the name of the function that computes its adjoints."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A function and those that compute its derivatives, as far as there are some."""

    value: TypedTarget
    forward: TypedTarget | None = None
    backward: TypedTarget | None = None
    tangent: TypedTarget | None = None

    def with_functions(self, mode: str, functions: Sequence[TypedTarget]) -> Rule:
        """The rule with what one of the operators gives."""
        if mode == "tangent":
            return replace(self, tangent=functions[0])
        return replace(self, forward=functions[0], backward=functions[1])

    @property
    def differentiable(self) -> tuple[int, ...]:
        """The indices of the parameters with adjoints."""
        params = enumerate(self.value.type.params)
        return tuple(index for index, type_ in params if is_differentiable(type_))

    def captured(self) -> tuple[Var, ...]:
        """What its functions captured."""
        parts = (self.value, self.forward, self.backward, self.tangent)
        return tuple(
            dict.fromkeys(v for part in parts if part is not None for v in part.target.captured)
        )

    def function(self, node: Call) -> Function:
        """The function of the module that stands for it; `node` is where it was asked for."""
        outer = {var: Var(var.name, type_of(var)) for var in self.captured()}
        params = [Var(f"p{n}", type_) for n, type_ in enumerate(self.value.type.params)]
        value, run = Var("value"), Var("run")
        bindings: list[tuple[Var, Expr]] = [(value, self.value(outer, params))]
        adjoints: Expr = Tuple(())
        if self.forward is not None and self.backward is not None:
            bindings.append((run, self.forward(outer, params)))
            adjoints = self.backward(outer, (TupleGetItem(run, 1), value))
        tangent: Expr = Tuple(())
        if self.tangent is not None:
            changes = [params[index] for index in self.differentiable]
            tangent = self.tangent(outer, (*params, *changes))
        operator = find_operator("ruled")
        assert operator is not None
        body: Expr = operator(value, adjoints, tangent, captured=len(outer))
        body = replace(body, span=node.span)
        for var, each in reversed(bindings):
            body = Let(var, each, body)
        result = self.value.type.result
        return Function((*outer.values(), *params), body, result, span=node.span)


@dataclass
class AddedRule:
    """Completes a rule by functions that are added to the module; `name` is to stand for it."""

    rule: Rule
    name: str
    names: Names
    pullback: Pullback
    functions: dict[str, Function] = field(default_factory=dict)

    def completed(self, modes: frozenset[str]) -> Rule:
        """The rule with what some modes of derivatives take."""
        rule, differs = self.rule, bool(self.rule.differentiable)
        if differs and rule.tangent is None and "tangent" in modes:
            rule = replace(rule, tangent=self._tangent())
        if differs and rule.backward is None and modes - {"tangent"}:
            rule = replace(rule, forward=self._forward(), backward=self._backward())
        return rule

    def _tangent(self) -> TypedTarget:
        """From the rule for adjoints: the adjoint of `backward`, with regard to its second one."""
        rule, indices = self.rule, self.rule.differentiable
        assert rule.forward is not None and rule.backward is not None
        captured = _captured(rule.forward, rule.backward)
        params, changes = (
            _variables("p", rule.value.type),
            _variables("d", rule.value.type, indices),
        )
        run = Var("run")
        backward = TypedTarget(
            Target(self.pullback(rule.backward, (1,)), rule.backward.target.captured),
            rule.backward.type,
        )
        result = rule.backward.type.result
        is_one = len(indices) == 1 and result == rule.value.type.params[indices[0]]
        given: Expr = changes[0] if is_one else Tuple(changes)
        arguments = (TupleGetItem(run, 1), TupleGetItem(run, 0), given)
        found = TupleGetItem(TupleGetItem(backward(captured, arguments), 1), 0)
        body = Let(run, rule.forward(captured, params), Tuple((TupleGetItem(run, 0), found)))
        return self._added("tangent", captured, (*params, *changes), body)

    def _forward(self) -> TypedTarget:
        """From the rule for tangents: the parameters are all that `_backward` needs. The function
        has its rule there, too, for second derivatives."""
        whole = replace(self.rule.value, target=Target(self.name, self.rule.captured()))
        captured = _captured(whole)
        params = _variables("p", self.rule.value.type)
        body = Tuple((whole(captured, params), Tuple(params)))
        return self._added("forward", captured, params, body)

    def _backward(self) -> TypedTarget:
        """From the rule for tangents: the adjoint of the tangent, with regard to those given."""
        rule, type_ = self.rule, self.rule.value.type
        assert rule.tangent is not None
        captured = _captured(rule.tangent)
        params, changes = _variables("p", type_), _variables("d", type_, rule.differentiable)
        alone = self._added(
            "change", captured, (*params, *changes),
            TupleGetItem(rule.tangent(captured, (*params, *changes)), 1),
        )  # fmt: skip
        last = tuple(range(len(params), len(params) + len(changes)))
        name = self.pullback(alone, last)
        left, given = Var("left", TupleType(type_.params)), Var("d", type_.result)
        again = tuple(TupleGetItem(left, index) for index in range(len(params)))
        outer = _captured(alone)
        zeros = tuple(again[index] for index in rule.differentiable)
        call = Call(GlobalVar(name), (*outer.values(), *again, *zeros, given))
        return self._added("backward", outer, (left, given), TupleGetItem(call, 1))

    def _added(
        self, ending: str, captured: dict[Var, Var], params: Sequence[Var], body: Expr
    ) -> TypedTarget:
        """A function that is added to the module."""
        name = self.names.new(f"{self.rule.value.target.name}_{ending}")
        made = Function((*captured.values(), *params), body)
        self.functions[name] = made
        result = self._result(ending)
        type_ = FuncType(tuple(type_of(param) for param in params), result)
        return TypedTarget(Target(name, tuple(captured)), type_)

    def _result(self, ending: str) -> Type:
        type_ = self.rule.value.type
        chosen = tuple(type_.params[index] for index in self.rule.differentiable)
        match ending:
            case "tangent":
                return TupleType((type_.result, type_.result))
            case "forward":
                return TupleType((type_.result, TupleType(type_.params)))
            case "backward":
                return TupleType(chosen)
            case _:
                return type_.result


def checkpoint_function(target: Target, type_: FuncType, node: Call) -> Function:
    """The function of the module that stands for one that is computed again; `node` is where."""
    outer = {var: Var(var.name, type_of(var)) for var in target.captured}
    params = [Var(f"p{n}", part) for n, part in enumerate(type_.params)]
    value = Var("value")
    operator = find_operator("checkpointed")
    assert operator is not None
    call = replace(TypedTarget(target, type_)(outer, params), span=node.span)
    body = Let(value, call, replace(operator(value), span=node.span))
    return Function((*outer.values(), *params), body, type_.result, span=node.span)


def _captured(*parts: TypedTarget) -> dict[Var, Var]:
    """A parameter for each variable that functions captured."""
    return {var: Var(var.name, type_of(var)) for part in parts for var in part.target.captured}


def _variables(name: str, type_: FuncType, indices: Sequence[int] | None = None) -> tuple[Var, ...]:
    """A parameter for each of a function's, or for some."""
    chosen = range(len(type_.params)) if indices is None else indices
    return tuple(Var(f"{name}{index}", type_.params[index]) for index in chosen)
