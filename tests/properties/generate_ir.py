"""Random modules that use every kind of node: well-scoped, but not necessarily well-typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar as Generic

import numpy as np
from hypothesis import strategies as st

from relay_tune.ir.dim import UNKNOWN, Dim, Symbol
from relay_tune.ir.dim_arithmetic import add, floor_divide, maximum, multiply
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import (
    AttributeValue,
    Call,
    Clause,
    Constant,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TuplePattern,
    Var,
    VarPattern,
    WildcardPattern,
)
from relay_tune.ir.module import Module
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from tests.properties.toy_operators import (
    ADD,
    NEGATE,
    ODD_NAME,
    POOL,
    SLICE,
    RequiredAttributes,
    ToyAttributes,
)

Item = Generic("Item")

NAMES = ("x", "x", "x_1", "a.b", "a/b", "0", "let", "in:0", "_", "größe", 'q"\\\n', "inff", "")
GLOBAL_NAMES = ("main", "g.h", "torch-jit", "def")
TYPE_NAMES = ("List", "Tree", "float32", "Tensor", "odd name", "ref")
CONSTRUCTOR_NAMES = ("Cons", "Nil", "Node", "if", "meta", "True", "_", "nanf", "a b")
KINDS = (Kind.TYPE, Kind.TYPE, Kind.SHAPE)


@dataclass(frozen=True)
class Scope:
    """What may be used at a place: variables, nodes to share, type parameters."""

    variables: tuple[Var, ...] = ()
    types: tuple[TypeVar, ...] = ()
    nodes: list[Expr] = field(default_factory=list)

    def inside(self, variables: tuple[Var, ...] = (), types: tuple[TypeVar, ...] = ()) -> Scope:
        return Scope(self.variables + variables, self.types + types, list(self.nodes))


class Generator:
    """Draws the parts of one module."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Item]], Item]) -> None:
        self.draw = draw
        self.data_types: list[GlobalTypeVar] = []
        self.constructors: list[Constructor] = []
        self.globals: list[str] = ["main"]

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def one_of(self, *items: Item) -> Item:
        return items[self.number(0, len(items) - 1)]

    def several(self, make: Callable[[], Item], most: int = 2) -> tuple[Item, ...]:
        return tuple(make() for _ in range(self.number(0, most)))

    def some(self, names: tuple[str, ...], most: int) -> list[str]:
        return self.draw(st.lists(st.sampled_from(names), unique=True, max_size=most))

    # modules

    def module(self) -> Module:
        self.data_types = [GlobalTypeVar(name) for name in self.some(TYPE_NAMES, 2)]
        names = self.some(CONSTRUCTOR_NAMES, 5)
        types = {header.name: self.type_data(header, names) for header in self.data_types}
        self.constructors = [part for data in types.values() for part in data.constructors]
        self.globals = ["main", *(name for name in self.some(GLOBAL_NAMES, 2) if name != "main")]
        functions = {name: self.function(Scope(), 6) for name in self.globals}
        return Module(functions, types, self.attributes())

    def type_data(self, header: GlobalTypeVar, names: list[str]) -> TypeData:
        params = self.several(self.type_var)
        scope = Scope(types=params)
        constructors = tuple(
            Constructor(names.pop(), self.several(lambda: self.type(scope, 2)), header, tag)
            for tag in range(self.number(0, len(names)))
        )
        return TypeData(header, params, constructors, self.flag())

    # types

    def type_var(self) -> TypeVar:
        return TypeVar(self.one_of("A", "A", "List", "int8", "odd t"), self.one_of(*KINDS))

    def type(self, scope: Scope, depth: int) -> Type:
        def inner() -> Type:
            return self.type(scope, depth - 1)

        match self.number(0, 3 if depth == 0 else 8):
            case 0 | 1:
                return TensorType(self.several(self.dim, 3), self.one_of(*DTYPES))
            case 2:
                return self.one_of(IncompleteType(), *scope.types)
            case 3:
                return self.one_of(TupleType(()), *self.data_types)
            case 4:
                return TupleType(self.several(inner, 3))
            case 5:
                return RefType(inner())
            case 6:
                return TypeCall(inner(), self.several(inner))
            case _:
                params = self.several(self.type_var)
                bound = scope.inside(types=params)
                arguments = self.several(lambda: self.type(bound, depth - 1))
                return FuncType(arguments, self.type(bound, depth - 1), params)

    def dim(self) -> Dim:
        match self.number(0, 7):
            case 0:
                return UNKNOWN
            case 1:
                return Symbol(self.one_of("n", "m", "odd dim", "fn"))
            case 2:
                return add(self.dim(), self.dim())
            case 3:
                return multiply(self.dim(), self.dim())
            case 4:
                return floor_divide(self.dim(), self.number(1, 4))
            case 5:
                return maximum(self.dim(), self.dim())
            case _:
                return self.number(-3, 1000)

    def annotation(self, scope: Scope) -> Type | None:
        return self.type(scope, 2) if self.flag() else None

    # attributes

    def attributes(self) -> dict[str, AttributeValue]:
        return {name: self.attribute(2) for name in self.some(("Primitive", "type", "a:b"), 2)}

    def attribute(self, depth: int) -> AttributeValue:
        def inner() -> AttributeValue:
            return self.attribute(depth - 1)

        match self.number(0, 3 if depth == 0 else 5):
            case 0:
                return self.one_of(None, True, False)
            case 1:
                return self.draw(st.integers())
            case 2:
                return self.draw(st.floats())
            case 3:
                return self.draw(st.text(max_size=4))
            case 4:
                return self.several(inner)
            case _:
                return list(self.several(inner))

    # expressions

    def var(self, scope: Scope) -> Var:
        return Var(self.one_of(*NAMES), self.annotation(scope))

    def function(self, scope: Scope, depth: int) -> Function:
        type_params = self.several(self.type_var)
        outer = scope.inside(types=type_params)
        params = self.several(lambda: self.var(outer), 3)
        body = self.expression(outer.inside(params), depth - 1)
        return Function(params, body, self.annotation(outer), type_params, self.attributes())

    def expression(self, scope: Scope, depth: int) -> Expr:
        if scope.nodes and self.number(0, 3) == 0:
            return self.one_of(*scope.nodes)
        node = self.composite(scope, depth) if depth > 0 else self.leaf(scope)
        scope.nodes.append(node)
        return node

    def leaf(self, scope: Scope) -> Expr:
        choices: list[Expr] = [*scope.variables, *scope.variables, ADD, ODD_NAME, Tuple(())]
        choices += [GlobalVar(name) for name in self.globals]
        choices += self.constructors
        if self.number(0, 2) == 0:
            return self.constant()
        return self.one_of(*choices)

    def constant(self) -> Constant:
        dtype = self.one_of(*DTYPES.values())
        shape = self.several(lambda: self.number(0, 3))
        count = int(np.prod(shape, dtype=int))
        raw = self.draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
        if dtype == np.dtype(bool):
            raw = bytes(byte % 2 for byte in raw)
        return Constant(np.frombuffer(raw, dtype).reshape(shape))

    def composite(self, scope: Scope, depth: int) -> Expr:
        def inner() -> Expr:
            return self.expression(scope, depth - 1)

        match self.number(0, 11):
            case 0:
                return Tuple(self.several(inner, 3))
            case 1:
                return TupleGetItem(inner(), self.number(0, 3))
            case 2:
                return self.function(scope, depth)
            case 3:
                return self.operator_call(inner)
            case 4:
                types = self.several(lambda: self.type(scope, 1))
                return Call(inner(), self.several(inner), None, types)
            case 5 | 6:
                return self.let(scope, depth)
            case 7:
                branches = [self.expression(scope.inside(), depth - 1) for _ in range(2)]
                return If(inner(), *branches)
            case 8:
                return self.one_of(RefCreate(inner()), RefRead(inner()))
            case 9:
                return RefWrite(inner(), inner())
            case 10:
                clauses = self.several(lambda: self.clause(scope, depth), 3)
                return Match(inner(), clauses, self.flag())
            case _:
                return ADD(inner(), inner())

    def operator_call(self, inner: Callable[[], Expr]) -> Call:
        match self.number(0, 2):
            case 0:
                return NEGATE(inner())
            case 1:
                record = RequiredAttributes(self.number(0, 9), (self.number(0, 2), 1))
                return Call(SLICE, (inner(),), record)
            case _:
                return Call(POOL, (inner(),), self.toy_attributes())

    def toy_attributes(self) -> ToyAttributes:
        return ToyAttributes(
            axis=self.number(-2, 2),
            epsilon=self.draw(st.floats()),
            pads=self.several(lambda: self.number(-9, 9)),
            name=self.one_of(None, "", 'quo"te', "\u2028\x00"),
            keep=self.flag(),
            layout=self.one_of("NCHW", "NHWC"),
            nested=self.several(lambda: self.several(lambda: self.draw(st.floats()))),
        )

    def let(self, scope: Scope, depth: int) -> Let:
        var = self.var(scope)
        bound = scope.inside((var,))
        if self.flag():
            value: Expr = self.function(bound, depth - 1)
        else:
            value = self.expression(scope, depth - 1)
        return Let(var, value, self.expression(bound, depth - 1))

    def clause(self, scope: Scope, depth: int) -> Clause:
        bound: list[Var] = []
        pattern = self.pattern(scope, bound, 2)
        return Clause(pattern, self.expression(scope.inside(tuple(bound)), depth - 1))

    def pattern(self, scope: Scope, bound: list[Var], depth: int) -> Pattern:
        def inner() -> Pattern:
            return self.pattern(scope, bound, depth - 1)

        match self.number(0, 1 if depth == 0 else 3):
            case 0:
                return WildcardPattern()
            case 1:
                bound.append(self.var(scope))
                return VarPattern(bound[-1])
            case 2 if self.constructors:
                return ConstructorPattern(self.one_of(*self.constructors), self.several(inner))
            case _:
                return TuplePattern(self.several(inner))


@st.composite
def modules(draw: Callable[[st.SearchStrategy[Item]], Item]) -> Module:
    """Modules of all node kinds."""
    return Generator(draw).module()
