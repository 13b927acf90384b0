"""Random well-typed expressions, made from the type that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children
from relay_tune.ir.types import (
    BOOL,
    FuncType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay_tune.typing.type_terms import substitute_vars
from tests.properties.programs.data import constructors_of, covering_cases
from tests.properties.programs.program_types import (
    INT,
    contains_function,
    contains_reference,
    instance_of,
    random_type,
)
from tests.properties.programs.scope import Available, Recursion, Scope, Signature
from tests.properties.programs.tensors import operate, operator_call, random_constant

MAXIMUM_COUNT = 3
RUNS_OF_RECURSION = 15
RUNS_OF_CLOSURE = 6
MAXIMUM_COST = 4000

Production = Callable[[Type, Scope, int], Expr | None]
Bound = tuple[Var, Expr, Scope]
Statement = Callable[[Scope, int], Bound | None]


class Generator:
    """Makes expressions of given types; every program it makes ends.

    Closures have simple types, recursion counts down, cells hold no functions.
    """

    def __init__(self, rng: Random, library: Module, fuel: int) -> None:
        self.rng = rng
        self.library = library
        self.fuel = fuel
        self.cost = 0
        self._pure: set[Expr] = set()

    def expression(self, type_: Type, scope: Scope, depth: int) -> Expr:
        """An expression of a type that may use what is in scope."""
        self.cost += scope.runs
        if depth <= 0 or self.fuel <= 0:
            return self.leaf(type_, scope)
        if self.rng.random() < 0.12:
            again = self._used_again(type_, scope)
            if again is not None:
                return again
        self.fuel -= 1
        for production in self._productions(type_):
            made = production(type_, scope, depth - 1)
            if made is not None:
                return self._remember(made, type_, scope)
        return self.leaf(type_, scope)

    def leaf(self, type_: Type, scope: Scope) -> Expr:
        """A small expression: a variable, or what the type is made of."""
        known = _known_values(type_, scope)
        if known and (isinstance(type_, TypeVar | RefType) or self.rng.random() < 0.85):
            return self.rng.choice(known)
        match type_:
            case TensorType():
                return random_constant(self.rng, type_)
            case TupleType():
                return Tuple(tuple(self.leaf(field, scope) for field in type_.fields))
            case FuncType():
                return self._lambda(type_, scope, 0)
            case RefType():
                return RefCreate(self.leaf(type_.value, scope))
            case TypeCall():
                return self._smallest_value(type_, scope)
        raise AssertionError(f"no value of type {type_} is at hand")

    def signature_type(self, scope: Scope, depth: int = 2) -> Type:
        """A type for a variable."""
        return random_type(self.rng, scope.type_vars, depth)

    # choices

    def _productions(self, type_: Type) -> list[Production]:
        """Ways to make an expression, in random order."""
        weighted: list[tuple[float, Production]] = [
            (1.5, self._block),
            (1.2, self._if),
            (0.7, self._projection),
            (0.5, self._immediate_call),
            (2.0, self._call_of_variable),
            (3.0, self._call_of_function),
            (1.5, self._match),
            (2.0, self._read),
            (4.0, self._recursive_call),
            (6.0, self._composed),
        ]
        keyed = [(self.rng.random() ** (1 / weight), make) for weight, make in weighted]
        return [make for _, make in sorted(keyed, key=lambda pair: -pair[0])]

    def _composed(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        match type_:
            case TensorType():
                return operator_call(
                    self.rng, type_, lambda wanted: self.expression(wanted, scope, depth)
                )
            case TupleType():
                fields = (self.expression(field, scope, depth) for field in type_.fields)
                return Tuple(tuple(fields))
            case FuncType():
                return self._function_value(type_, scope, depth)
            case TypeCall():
                return self._construct(type_, scope, depth)
        return None

    def _used_again(self, type_: Type, scope: Scope) -> Expr | None:
        known = [found.expr for found in scope.nodes if found.type == type_]
        return self.rng.choice(known) if known else None

    def _remember(self, node: Expr, type_: Type, scope: Scope) -> Expr:
        """Keep a pure node, to be shared."""
        if self._is_pure(node):
            self._pure.add(node)
            scope.nodes.append(Available(node, type_))
        return node

    def _is_pure(self, node: Expr) -> bool:
        match node:
            case Function():
                return True
            case Call(callee=Operator() | Constructor()):
                return all(map(self._is_pure, node.arguments))
            case Tuple() | TupleGetItem() | If():
                return node in self._pure or all(map(self._is_pure, children(node)))
            case _:
                return isinstance(node, Var | Constant)

    # statements

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

    # control

    def _if(self, type_: Type, scope: Scope, depth: int) -> Expr:
        condition = self.expression(BOOL, scope, depth)
        branches = [self.expression(type_, scope.inner(), depth) for _ in range(2)]
        return If(condition, *branches)

    def _projection(self, type_: Type, scope: Scope, depth: int) -> Expr:
        tuples = [
            TupleGetItem(found.expr, index)
            for found in scope.variables
            if isinstance(found.type, TupleType)
            for index, field in enumerate(found.type.fields)
            if field == type_
        ]
        if tuples:
            return self.rng.choice(tuples)
        fields = [type_, self.signature_type(scope, 1)]
        self.rng.shuffle(fields)
        whole = self.expression(TupleType(tuple(fields)), scope, depth)
        return TupleGetItem(whole, next(i for i, field in enumerate(fields) if field is type_))

    def _match(self, type_: Type, scope: Scope, depth: int) -> Expr:
        known = [found.type for found in scope.variables if isinstance(found.type, TypeCall)]
        value_type = self.rng.choice(known) if known else self.signature_type(scope)
        if self.rng.random() < 0.25:
            value_type = TupleType((value_type, self.signature_type(scope, 1)))
        value = self.expression(value_type, scope, depth)
        clauses = tuple(
            Clause(pattern, self.expression(type_, scope.binding(*bound), depth))
            for pattern, bound in covering_cases(self.rng, self.library, value_type)
        )
        return Match(value, clauses, complete=self.rng.random() < 0.9)

    def _read(self, type_: Type, scope: Scope, depth: int) -> Expr | None:
        cells = [found.expr for found in scope.variables if found.type == RefType(type_)]
        return RefRead(self.rng.choice(cells)) if cells else None

    # functions

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
        call = Call(called.callee, arguments, None, written if self.rng.random() < 0.5 else ())
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

    # values of data types

    def _smallest_value(self, type_: TypeCall, scope: Scope) -> Expr:
        choices = constructors_of(self.library, type_)
        constructor, fields = min(choices, key=lambda choice: (len(choice[1]), self.rng.random()))
        return Call(
            constructor, tuple(self.leaf(field, scope) for field in fields), None, type_.arguments
        )

    def _construct(self, type_: TypeCall, scope: Scope, depth: int) -> Expr:
        choices = constructors_of(self.library, type_)
        largest = max(choices, key=lambda choice: len(choice[1]))
        constructor, fields = largest if self.rng.random() < 0.5 else self.rng.choice(choices)
        written = type_.arguments if not fields or self.rng.random() < 0.3 else ()
        return Call(constructor, self._arguments(fields, scope, depth), None, written)


def _is_instance(known: Signature, type_: FuncType) -> bool:
    pattern = FuncType(known.params, known.result)
    return instance_of(pattern, type_, known.type_params) is not None


def _known_values(type_: Type, scope: Scope) -> list[Expr]:
    """Variables of a type, fields of variables, and contents of cells."""
    found: list[Expr] = []
    for known in scope.variables:
        if known.type == type_:
            found.append(known.expr)
        elif known.type == RefType(type_):
            found.append(RefRead(known.expr))
        elif isinstance(known.type, TupleType):
            found += [
                TupleGetItem(known.expr, index)
                for index, field in enumerate(known.type.fields)
                if field == type_
            ]
    return found
