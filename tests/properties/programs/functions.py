"""Functions and calls in random programs; recursion counts down, so that every program ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from random import Random

import numpy as np

from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.types import (
    FuncType,
    Type,
    TypeVar,
)
from relay_tune.typing.type_terms import substitute_vars
from tests.properties.programs.data import constructors_of
from tests.properties.programs.program_types import (
    INT,
    contains_reference,
    instance_of,
    random_type,
)
from tests.properties.programs.scope import Recursion, Scope, Signature
from tests.properties.programs.tensors import operate

MAXIMUM_COUNT = 3
RUNS_OF_RECURSION = 15
RUNS_OF_CLOSURE = 6
MAXIMUM_COST = 4000


class Functions(ABC):
    """Makes functions, closures and calls of them.

    Attributes:
        rng: decides.
        library: the data types and functions that may be used.
        fuel: how many expressions may still be made.
        cost: about how many operations run, which is bounded.
    """

    def __init__(self, rng: Random, library: Module, fuel: int) -> None:
        self.rng = rng
        self.library = library
        self.fuel = fuel
        self.cost = 0

    @abstractmethod
    def expression(self, type_: Type, scope: Scope, depth: int) -> Expr:
        """An expression of a type that may use what is in scope."""

    def signature_type(self, scope: Scope, depth: int = 2) -> Type:
        """A type for a variable."""
        return random_type(self.rng, scope.type_vars, depth)

    def _lambda(self, type_: FuncType, scope: Scope, depth: int) -> Expr:
        params = tuple(Var(self.rng.choice("pqrs"), param) for param in type_.params)
        inside = scope.inside_function(RUNS_OF_CLOSURE)
        body = self.expression(
            type_.result, inside.binding(*zip(params, type_.params, strict=True)), depth
        )
        return Function(params, body, type_.result if self.rng.random() < 0.3 else None)

    def _function_value(self, type_: FuncType, scope: Scope, depth: int) -> Expr:
        """A closure, a function that has a name, or a constructor.

        A polymorphic one is bound to an annotated variable, since nothing else may determine at
        which type it is used.
        """
        named = self._named_functions(type_, scope)
        if not named or self.rng.random() < 0.5:
            return self._lambda(type_, scope, depth)
        var = Var("named", type_)
        return Let(var, self.rng.choice(named), var)

    def _named_functions(self, type_: FuncType, scope: Scope) -> list[Expr]:
        named = [
            known.callee
            for known in scope.functions
            if not known.counts and _is_instance(known, type_)
        ]
        return named + [
            constructor
            for constructor, fields in constructors_of(self.library, type_.result)
            if fields and fields == type_.params
        ]

    def _immediate_call(self, type_: Type, scope: Scope, depth: int) -> Expr:
        params = tuple(self.signature_type(scope, 1) for _ in range(self.rng.choice((0, 1, 2))))
        function = self.expression(FuncType(params, type_), scope, depth)
        return Call(function, self._arguments(params, scope, depth))

    def _call_of_variable(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        callable_ = [
            (found.expr, found.type)
            for found in scope.variables
            if isinstance(found.type, FuncType) and found.type.result == type_
        ]
        if not callable_:
            return None
        function, function_type = self.rng.choice(callable_)
        return Call(function, self._arguments(function_type.params, scope, depth))

    def _call_of_function(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        """A call of a named function, at an instance of its type that gives the result wanted."""
        fitting = [
            (known, instance)
            for known in scope.functions
            if self._is_affordable(known, scope)
            and (instance := instance_of(known.result, type_, known.type_params)) is not None
        ]
        if not fitting:
            return None
        called, instance = self.rng.choice(fitting[-self.rng.choice((2, 20)) :])
        if any(map(contains_reference, instance.values())):
            return None
        return self._call(called, instance, scope, depth)[0]

    def _is_affordable(self, known: Signature, scope: Scope) -> bool:
        return self.cost + known.cost * scope.runs <= MAXIMUM_COST

    def _call(
        self, called: Signature, instance: dict[Type, Type], scope: Scope, depth: int
    ) -> tuple[Call, Type]:
        """A call and its type, with types chosen for the type parameters not in `instance`."""
        self.cost += called.cost * scope.runs
        for var in called.type_params:
            instance.setdefault(var, self.signature_type(scope, 1))
        params = tuple(substitute_vars(param, instance) for param in called.params)
        arguments = tuple(
            self._count(scope, depth)
            if called.counts and place == 0
            else self._argument(param, wanted, scope, depth)
            for place, (param, wanted) in enumerate(zip(called.params, params, strict=True))
        )
        written = tuple(instance[var] for var in called.type_params)
        is_written = self.rng.random() < 0.5 or any(map(_has_many_types, arguments, called.params))
        call = Call(called.callee, arguments, None, written if is_written else ())
        return call, substitute_vars(called.result, instance)

    def _recursive_call(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        fitting = [known for known in scope.recursion if known.result == type_]
        if not fitting:
            return None
        called = fitting[0]
        scope.recursion.remove(called)
        smaller = operate("subtract", called.counter, Constant(np.asarray(1, "int32")))
        return Call(called.callee, (smaller, *self._arguments(called.params[1:], scope, depth)))

    def _argument(self, param: Type, wanted: Type, scope: Scope, depth: int) -> Expr:
        """An argument; where the parameter is a function, perhaps a polymorphic one by name."""
        if isinstance(param, FuncType) and isinstance(wanted, FuncType):
            named = self._named_functions(wanted, scope)
            if named and self.rng.random() < 0.4:
                return self.rng.choice(named)
        return self.expression(wanted, scope, depth)

    def _count(self, scope: Scope, depth: int) -> Expr:
        if self.rng.random() < 0.6:
            return Constant(np.asarray(self.rng.randint(0, MAXIMUM_COUNT), "int32"))
        number = self.expression(INT, scope, depth - 1)
        return operate("clip", number, a_min=0.0, a_max=float(MAXIMUM_COUNT))

    def _arguments(self, types: tuple[Type, ...], scope: Scope, depth: int) -> tuple[Expr, ...]:
        return tuple(self.expression(type_, scope, depth) for type_ in types)

    def counting_function(
        self,
        callee: Expr,
        params: tuple[Type, ...],
        result: Type,
        scope: Scope,
        depth: int,
        partner_params: tuple[Type, ...] | None = None,
    ) -> Function:
        """A function that counts its first parameter down, calling `callee` once or twice."""
        variables = tuple(Var(name, type_) for name, type_ in zip("nstuv", params, strict=False))
        counter = variables[0]
        recursion = Recursion(callee, counter, partner_params or params, result)
        inside = replace(
            scope.inside_function(RUNS_OF_RECURSION).binding(
                *zip(variables[1:], params[1:], strict=True)
            ),
            recursion=[recursion] * self.rng.choice((1, 1, 2)),
        )
        done = operate("less_equal", counter, Constant(np.asarray(0, "int32")))
        base = self.expression(result, replace(inside.inner(), recursion=[]), min(depth, 1))
        step = self._step(inside.inner(), result, depth)
        return Function(variables, If(done, base, step), result)

    def _step(self, scope: Scope, result: Type, depth: int) -> Expr:
        """The case that goes on: the result of a recursive call is bound, then used."""
        if self.rng.random() < 0.3:
            return self.expression(result, scope, depth)
        var = Var("rest")
        value = self._recursive_call(result, scope, min(depth, 2))
        if value is None or self.rng.random() < 0.3:
            return value if value is not None else self.expression(result, scope, depth)
        return Let(var, value, self.expression(result, scope.binding((var, result)), depth))

    def polymorphic_function(
        self, callee: Expr, scope: Scope, depth: int
    ) -> tuple[Signature, Function]:
        """A function with a type parameter, of which it has a value."""
        variable = TypeVar(self.rng.choice("ST"))
        inside = replace(scope, type_vars=(*scope.type_vars, variable))
        others = tuple(self.signature_type(inside, 1) for _ in range(self.rng.randint(0, 2)))
        params = (variable, *others)
        result = self.rng.choice((variable, self.signature_type(inside)))
        names = tuple(Var(name, param) for name, param in zip("klm", params, strict=False))
        before = self.cost
        body = self.expression(
            result,
            inside.inside_function(1).binding(*zip(names, params, strict=True)),
            depth,
        )
        cost, self.cost = self.cost - before, before
        function = Function(names, body, result, (variable,))
        return Signature(callee, params, result, (variable,), cost=cost), function


def _has_many_types(argument: Expr, param: Type) -> bool:
    """Whether an argument may be a polymorphic function, which determines no type."""
    return isinstance(param, FuncType) and not isinstance(argument, Function)


def _is_instance(known: Signature, type_: FuncType) -> bool:
    pattern = FuncType(known.params, known.result)
    return instance_of(pattern, type_, known.type_params) is not None
