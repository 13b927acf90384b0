"""Random well-typed expressions, made from the type that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import ClassVar

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    If,
    Match,
    RefCreate,
    RefRead,
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
from tests.properties.programs.data import constructors_of, covering_cases
from tests.properties.programs.scope import Available, Scope
from tests.properties.programs.statements import Statements
from tests.properties.programs.tensors import operator_call, random_constant

Production = Callable[[Type, Scope, int], Expr | None]


class Generator(Statements):
    """Makes expressions of given types; every program it makes ends.

    Closures have simple types, recursion counts down, cells hold no functions.

    Attributes:
        also: functions that it may call, besides those of the library.
    """

    also: ClassVar[Mapping[str, Function]] = {}

    def __init__(self, rng: Random, library: Module, fuel: int) -> None:
        super().__init__(rng, library, fuel)
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
        for production in self._productions():
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

    def _productions(self) -> list[Production]:
        """Ways to make an expression, in random order."""
        keyed = [(self.rng.random() ** (1 / weight), make) for weight, make in self._weighted()]
        return [make for _, make in sorted(keyed, key=lambda pair: -pair[0])]

    def _weighted(self) -> list[tuple[float, Production]]:
        """Ways to make an expression, and how often each is wanted."""
        return [
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
