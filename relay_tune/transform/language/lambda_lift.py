"""Make functions of the module of closures.

before:
    def @main(%x: float32, %y: float32) {
      let %shift = fn (%a: float32) -> float32 {
        add(%a, %y)
      };
      %shift(%x)
    }

after:
    def @main_shift(%y: float32, Closure=1) -> fn (float32) -> float32 {
      fn (%a: float32) -> float32 {
        add(%a, %y)
      }
    }

    def @main(%x: float32, %y: float32) {
      let %shift = @main_shift(%y);
      %shift(%x)
    }

The parameters of a lifted function are the variables that the closure captured; it returns the
closure. One that captures nothing is lifted as it is. In its own body, a recursive closure is made
anew, and so is a polymorphic closure where another one captures it, since parameters have one type.
The transformation is that of T. Johnsson, "Lambda lifting", 1985.
"""

from __future__ import annotations

import itertools
from dataclasses import field, replace
from typing import ClassVar

from relay_tune.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import free_vars, post_order, rewrite
from relay_tune.ir.types import Type, TypeVar
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.transform.language.polymorphism import is_polymorphic
from relay_tune.transform.language.type_variables import free_type_variables
from relay_tune.transform.module_pass import same_scope, with_body
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_terms import substitute_vars


@dataclass(frozen=True)
class LambdaLift:
    """Lifts every closure that is not fused."""

    name: ClassVar[str] = "lambda_lift"

    def __call__(self, module: Module) -> Module:
        """The typed module whose closures are what functions with the attribute Closure return."""
        lifting = _Lifting(set(module.functions))
        functions: dict[str, Function] = {}
        for name, function in module.functions.items():
            rewritten = lifting.without_closures(name, function)
            functions.update(lifting.take_lifted())
            functions[name] = rewritten
        if len(functions) == len(module.functions):
            return module
        return infer_types(replace(module, functions=functions))


@dataclass
class _Lifting:
    """The functions that are made of closures."""

    names: set[str]
    lifted: dict[str, Function] = field(default_factory=dict)
    polymorphic: dict[Var, Expr] = field(default_factory=dict)
    """How closures that are used at several types are made."""

    def take_lifted(self) -> dict[str, Function]:
        """What was lifted since the last time."""
        lifted, self.lifted = self.lifted, {}
        return lifted

    def without_closures(self, name: str, function: Function) -> Function:
        """A function of the module with closures lifted out of it, innermost first."""
        if function.is_primitive or _is_lifted(function):
            return function
        nodes = list(post_order(function.body, enter=lambda node: not is_opaque_function(node)))
        bound_to = {node.value: node.var for node in nodes if isinstance(node, Let)}
        done: dict[Expr, Expr] = {}
        for node in nodes:
            if isinstance(node, Function) and not node.is_primitive:
                var = bound_to.get(node)
                title = f"{name}_{'closure' if var is None else var.name}"
                done[node] = self._lift(title, var, _with_lifted(node, done))
        return with_body(function, _lifted_in(function.body, done))

    def _lift(self, title: str, var: Var | None, function: Function) -> Expr:
        """Make a function of a closure that is bound to `var`; what stands in its place."""
        made = self._make(title, var, self._with_polymorphic(function))
        if var is not None and is_polymorphic(function.type):
            self.polymorphic[var] = made
        return made

    def _with_polymorphic(self, function: Function) -> Function:
        """A function that makes the polymorphic closures which it would capture."""
        if not any(free in self.polymorphic for free in free_vars(function)):
            return function
        known: dict[Expr, Expr] = dict(self.polymorphic.items())
        return with_body(function, rewrite(function.body, lambda node: known.get(node, node)))

    def _make(self, title: str, var: Var | None, function: Function) -> Expr:
        captured = tuple(free for free in free_vars(function) if free is not var)
        variables = free_type_variables(function, captured)
        target = GlobalVar(self._new_name(title))
        if not captured and not variables:
            self.lifted[target.name] = _closed(function, var, target)
            return target
        made = Call(target, captured, None, variables)
        self.lifted[target.name] = _maker(function, var, target, captured, variables)
        return made

    def _new_name(self, title: str) -> str:
        candidates = (f"{title}_{number}" if number else title for number in itertools.count())
        name = next(candidate for candidate in candidates if candidate not in self.names)
        self.names.add(name)
        return name


def _is_lifted(function: Function) -> bool:
    return function.attributes.get("Closure") == 1 and isinstance(function.body, Function)


def _with_lifted(function: Function, done: dict[Expr, Expr]) -> Function:
    return with_body(function, _lifted_in(function.body, done))


def _lifted_in(body: Expr, done: dict[Expr, Expr]) -> Expr:
    return rewrite(body, lambda node: done.get(node, node), enter=same_scope)


def _closed(function: Function, var: Var | None, target: GlobalVar) -> Function:
    """A closure that captures nothing, as a function of the module."""
    values: dict[Var, Expr] = {} if var is None else {var: target}
    copy = fresh_copy(function, values)
    return copy if isinstance(copy, Function) else function


def _maker(
    function: Function,
    var: Var | None,
    target: GlobalVar,
    captured: tuple[Var, ...],
    variables: tuple[TypeVar, ...],
) -> Function:
    """A function that takes what a closure captures and returns the closure."""
    own = {old: TypeVar(old.name, old.kind) for old in variables}
    types: dict[Type, Type] = dict(zip(variables, own.values(), strict=True))
    params = tuple(Var(free.name, _type_of(free, types)) for free in captured)
    values: dict[Var, Expr] = dict(zip(captured, params, strict=True))
    if var is not None:
        values[var] = Call(target, params, None, tuple(own.values()))
    body = fresh_copy(function, values, types)
    result = None if function.type is None else substitute_vars(function.type, types)
    return Function(params, body, result, tuple(own.values()), {"Closure": 1})


def _type_of(var: Var, types: dict[Type, Type]) -> Type | None:
    known = var.annotation or var.type
    return None if known is None else substitute_vars(known, types)
