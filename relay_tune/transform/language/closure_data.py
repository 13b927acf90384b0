"""Closures as values of data types, and the functions that apply them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from dataclasses import field, replace
from string import ascii_lowercase

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Var,
    VarPattern,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.traversal import children, free_vars, map_pattern_vars, rebuild
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import UNIT, FuncType, GlobalTypeVar, Type, TypeCall
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.let_blocks import is_atom
from relay_tune.typing.type_terms import parts, with_parts

Converting = Recursive[Expr]


@dataclass(eq=False)
class _Arrow:
    """The data type of one type of function.

    Attributes:
        header: its name.
        apply: the name of the function that applies a closure.
        closure: the first parameter of that function.
        params: its other ones.
        result: what it returns.
        constructors: one for each function of the program that has this type.
        clauses: what applying each of them does.
    """

    header: GlobalTypeVar
    apply: GlobalVar
    closure: Var
    params: tuple[Var, ...]
    result: Type
    constructors: list[Constructor] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)

    def application(self) -> Function:
        """The function that applies a closure of this type."""
        body = Match(self.closure, tuple(self.clauses), complete=bool(self.clauses))
        return Function((self.closure, *self.params), body, self.result)


class ClosureData:
    """Converts the functions of a module that has no type parameters, in A-normal form."""

    def __init__(self, module: Module) -> None:
        self._arrows: dict[Type, _Arrow] = {}
        constructors = {part.name for data in module.types.values() for part in data.constructors}
        self._new_type = _names("Function", module.types)
        self._new_constructor = _names("Closure", constructors)
        self._new_function = _names("apply", module.functions)

    def function(self, function: Function) -> Function:
        """A function of the module, with data in place of closures."""
        if function.is_primitive:
            return function
        converted = run(_Conversion(self, {}).function(function))
        assert isinstance(converted, Function)
        return converted

    def definitions(self) -> dict[str, TypeData]:
        """The data types of closures, by name."""
        return {
            arrow.header.name: TypeData(arrow.header, (), tuple(arrow.constructors))
            for arrow in self._arrows.values()
        }

    def applications(self) -> dict[str, Function]:
        """The functions that apply closures, by name."""
        return {arrow.apply.name: arrow.application() for arrow in self._arrows.values()}

    def arrow(self, type_: FuncType) -> _Arrow:
        """The data type of a type of function."""
        key = _plain(type_)
        known = self._arrows.get(key)
        if known is not None:
            return known
        header = GlobalTypeVar(self._new_type())
        arrow = self._arrows[key] = _Arrow(
            header, GlobalVar(self._new_function()), Var("f", header), (), UNIT
        )
        arrow.params = tuple(
            Var(ascii_lowercase[place % 26], self.type(param))
            for place, param in enumerate(type_.params)
        )
        arrow.result = self.type(type_.result)
        return arrow

    def type(self, type_: Type) -> Type:
        """The type of a value after conversion."""
        if isinstance(type_, FuncType):
            return self.arrow(type_).header
        return with_parts(type_, tuple(map(self.type, parts(type_))))

    def closure(self, function: Function, var: Var | None) -> tuple[Constructor, tuple[Var, ...]]:
        """The constructor of a closure that is bound to `var`, and what it captures."""
        arrow = self.arrow(_function_type(function))
        captured = tuple(free for free in free_vars(function) if free is not var)
        fields = tuple(self.type(free.annotation or free.type or UNIT) for free in captured)
        name, tag = self._new_constructor(), len(arrow.constructors)
        constructor = Constructor(name, fields, arrow.header, tag)
        arrow.constructors.append(constructor)
        return constructor, captured

    def add_clause(
        self,
        function: Function,
        constructor: Constructor,
        captured: tuple[Var, ...],
        body: Expr,
        variables: dict[Var, Var],
    ) -> None:
        """What applying a closure does, its body being converted."""
        pattern = tuple(VarPattern(variables[var]) for var in captured)
        clause = Clause(ConstructorPattern(constructor, pattern), body)
        self.arrow(_function_type(function)).clauses.append(clause)


class _Conversion:
    """Converts one body; `variables` are those around it that it may use, by their old names."""

    def __init__(self, data: ClosureData, variables: dict[Var, Var]) -> None:
        self._data = data
        self._variables = variables

    def function(self, function: Function) -> Converting:
        """A function of the module."""
        params = tuple(map(self._bind, function.params))
        body = yield self._convert(function.body)
        result = None if function.result_type is None else self._data.type(function.result_type)
        return replace(function, params=params, body=body, result_type=result, type=None)

    def _convert(self, node: Expr, bound_to: Var | None = None) -> Converting:
        match node:
            case Var():
                return self._variables.get(node, node)
            case Function() if not node.is_primitive:
                return (yield self._closure(node, bound_to))
            case _ if is_atom(node):
                return node
            case Let():
                var = self._bind(node.var)
                value = yield self._convert(node.value, node.var)
                return Let(var, value, (yield self._convert(node.body)), span=node.span)
            case Match():
                return (yield self._match(node))
            case Call():
                return (yield self._call(node))
            case _:
                below = []
                for child in children(node):
                    below.append((yield self._convert(child)))
                return replace(rebuild(node, below), type=None)

    def _call(self, call: Call) -> Converting:
        arguments = []
        for argument in call.arguments:
            arguments.append((yield self._convert(argument)))
        types = tuple(map(self._data.type, call.type_arguments))
        callee = call.callee
        if isinstance(callee, Operator | Constructor | GlobalVar) or is_opaque_function(callee):
            return Call(callee, tuple(arguments), call.attributes, types, span=call.span)
        closure = yield self._convert(callee)
        apply = self._data.arrow(_function_type(callee)).apply
        return Call(apply, (closure, *arguments), span=call.span)

    def _match(self, node: Match) -> Converting:
        value = yield self._convert(node.value)
        clauses = []
        for clause in node.clauses:
            pattern = map_pattern_vars(clause.pattern, self._bind)
            clauses.append(Clause(pattern, (yield self._convert(clause.body))))
        return Match(value, tuple(clauses), node.complete, span=node.span)

    def _closure(self, function: Function, bound_to: Var | None) -> Converting:
        """The value that a closure becomes; its body becomes a clause."""
        constructor, captured = self._data.closure(function, bound_to)
        arrow = self._data.arrow(_function_type(function))
        inside = {var: Var(var.name) for var in captured}
        variables = {**inside, **dict(zip(function.params, arrow.params, strict=True))}
        if bound_to is not None:
            variables[bound_to] = arrow.closure
        body = yield _Conversion(self._data, variables)._convert(function.body)
        self._data.add_clause(function, constructor, captured, body, inside)
        return Call(constructor, tuple(self._variables.get(var, var) for var in captured))

    def _bind(self, var: Var) -> Var:
        annotation = None if var.annotation is None else self._data.type(var.annotation)
        copy = self._variables[var] = Var(var.name, annotation, span=var.span)
        return copy


def _function_type(node: Expr) -> FuncType:
    assert isinstance(node.type, FuncType)
    return node.type


def _plain(type_: Type) -> Type:
    """A type in which data types without parameters are not applied to nothing."""
    if isinstance(type_, TypeCall) and not type_.arguments:
        return type_.function
    return with_parts(type_, tuple(map(_plain, parts(type_))))


def _names(stem: str, taken: Collection[str]) -> Callable[[], str]:
    """New names: the stem, then with numbers."""
    numbered = (f"{stem}_{number}" if number else stem for number in itertools.count())
    names = (name for name in numbered if name not in taken)
    return lambda: next(names)
