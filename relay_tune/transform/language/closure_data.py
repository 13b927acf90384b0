"""Closures as values of data types, and the functions that apply them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
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
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.traversal import children, free_vars, map_pattern_vars, post_order, rebuild
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import UNIT, FuncType, GlobalTypeVar, Type
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.closure_flow import ClosureFlow, calls_closure, plain_type
from relay_tune.transform.language.let_blocks import is_atom
from relay_tune.typing.type_terms import parts, with_parts

Converting = Recursive[Expr]


@dataclass(eq=False)
class _Application:
    """A function that applies closures of one type: some of them, or all.

    Attributes:
        name: its name.
        closure: its first parameter.
        params: its other ones.
        clauses: what applying each closure does.
    """

    name: GlobalVar
    closure: Var
    params: tuple[Var, ...]
    clauses: list[Clause] = field(default_factory=list)

    def add(self, constructor: Constructor, captured: Sequence[Var], body: Expr) -> None:
        """Say what applying the closures of a constructor does."""
        pattern = ConstructorPattern(constructor, tuple(map(VarPattern, captured)))
        self.clauses.append(Clause(pattern, body))

    def function(self, arrow: _Arrow) -> Function:
        """The function of the module."""
        is_complete = bool(self.clauses) and len(self.clauses) == len(arrow.constructors)
        body = Match(self.closure, tuple(self.clauses), complete=is_complete)
        return Function((self.closure, *self.params), body, arrow.result)


@dataclass(eq=False)
class _Arrow:
    """The data type of one type of function.

    Attributes:
        header: its name.
        type: the type of function.
        params: the types of its parameters as data.
        result: that of its result.
        constructors: one for each function of the program that has this type.
        applications: what applies them, by the functions that a call may reach.
    """

    header: GlobalTypeVar
    params: tuple[Type, ...] = ()
    result: Type = UNIT
    constructors: list[Constructor] = field(default_factory=list)
    applications: dict[frozenset[Function], _Application] = field(default_factory=dict)


class ClosureData:
    """Converts the functions of a module that has no type parameters, in A-normal form."""

    def __init__(self, module: Module, flow: ClosureFlow) -> None:
        self._reached = _reached(module, flow)
        self._groups = _by_type(self._reached)
        self._arrows: dict[Type, _Arrow] = {}
        self._bodies: dict[str, Function] = {}
        constructors = {part.name for data in module.types.values() for part in data.constructors}
        self._new_type = _names("Function", module.types)
        self._new_constructor = _names("Closure", constructors)
        self._new_function = _names("apply", module.functions)
        self._new_body = _names("closure", module.functions)

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
        made = {
            each.name.name: each.function(arrow)
            for arrow in self._arrows.values()
            for each in arrow.applications.values()
        }
        return {**made, **self._bodies}

    def arrow(self, type_: FuncType) -> _Arrow:
        """The data type of a type of function."""
        key = plain_type(type_)
        known = self._arrows.get(key)
        if known is not None:
            return known
        arrow = self._arrows[key] = _Arrow(GlobalTypeVar(self._new_type()))
        groups = self._groups.get(key, {})
        names = [GlobalVar(self._new_function()) for _ in groups]
        arrow.params = tuple(map(self.type, type_.params))
        arrow.result = self.type(type_.result)
        for name, group in zip(names, groups, strict=True):
            closure, *params = self.parameters(arrow)
            arrow.applications[group] = _Application(name, closure, tuple(params))
        return arrow

    def parameters(self, arrow: _Arrow) -> tuple[Var, ...]:
        """New variables for a closure and what it is applied to."""
        names = (ascii_lowercase[index % 26] for index in range(len(arrow.params)))
        return Var("f", arrow.header), *map(Var, names, arrow.params)

    def type(self, type_: Type) -> Type:
        """The type of a value after conversion."""
        if isinstance(type_, FuncType):
            return self.arrow(type_).header
        return with_parts(type_, tuple(map(self.type, parts(type_))))

    def application(self, call: Call) -> GlobalVar:
        """What applies the closures that a call may reach."""
        arrow = self.arrow(_function_type(call.callee))
        return arrow.applications[self._reached[call]].name

    def applications_of(self, function: Function) -> list[_Application]:
        """What applies a closure."""
        arrow = self.arrow(_function_type(function))
        return [each for group, each in arrow.applications.items() if function in group]

    def closure(self, function: Function, var: Var | None) -> tuple[Constructor, tuple[Var, ...]]:
        """The constructor of a closure that is bound to `var`, and what it captures."""
        arrow = self.arrow(_function_type(function))
        captured = tuple(free for free in free_vars(function) if free is not var)
        fields = tuple(self.type(free.annotation or free.type or UNIT) for free in captured)
        name, tag = self._new_constructor(), len(arrow.constructors)
        constructor = Constructor(name, fields, arrow.header, tag)
        arrow.constructors.append(constructor)
        return constructor, captured

    def add_body(self, function: Function) -> GlobalVar:
        """A function of the module for what applying a closure does at several points."""
        name = self._new_body()
        self._bodies[name] = function
        return GlobalVar(name)


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
        if not calls_closure(call):
            return Call(call.callee, tuple(arguments), call.attributes, types, span=call.span)
        closure = yield self._convert(call.callee)
        return Call(self._data.application(call), (closure, *arguments), span=call.span)

    def _match(self, node: Match) -> Converting:
        value = yield self._convert(node.value)
        clauses = []
        for clause in node.clauses:
            pattern = map_pattern_vars(clause.pattern, self._bind)
            clauses.append(Clause(pattern, (yield self._convert(clause.body))))
        return Match(value, tuple(clauses), node.complete, span=node.span)

    def _closure(self, function: Function, bound_to: Var | None) -> Converting:
        """The value that a closure becomes; its body becomes a clause of what applies it."""
        constructor, captured = self._data.closure(function, bound_to)
        applying = self._data.applications_of(function)
        shared: GlobalVar | None = None
        if len(applying) > 1:
            shared = yield from self._shared_body(function)
        for each in applying:
            inside = {var: Var(var.name) for var in captured}
            variables = inside if bound_to is None else {**inside, bound_to: each.closure}
            if shared is None:
                body = yield self._body(function, variables, each.params)
            else:
                outer = (variables[var] for var in free_vars(function))
                body = Call(shared, (*outer, *each.params))
            each.add(constructor, tuple(inside.values()), body)
        return Call(constructor, tuple(self._variables.get(var, var) for var in captured))

    def _body(
        self, function: Function, variables: Mapping[Var, Var], params: Sequence[Var]
    ) -> Converting:
        """The body of a closure, in other variables."""
        inside = {**variables, **dict(zip(function.params, params, strict=True))}
        return (yield _Conversion(self._data, inside)._convert(function.body))

    def _shared_body(self, function: Function) -> Generator[Converting, Expr, GlobalVar]:
        """A function for the body of a closure that several functions apply."""
        data, type_ = self._data, _function_type(function)
        outer = {
            var: Var(var.name, data.type(var.annotation or var.type or UNIT))
            for var in free_vars(function)
        }
        _, *params = data.parameters(data.arrow(type_))
        body = yield self._body(function, outer, params)
        return data.add_body(Function((*outer.values(), *params), body, data.type(type_.result)))

    def _bind(self, var: Var) -> Var:
        annotation = None if var.annotation is None else self._data.type(var.annotation)
        copy = self._variables[var] = Var(var.name, annotation, span=var.span)
        return copy


def _function_type(node: Expr) -> FuncType:
    assert isinstance(node.type, FuncType)
    return node.type


def _reached(module: Module, flow: ClosureFlow) -> dict[Call, frozenset[Function]]:
    """The functions that each call of a closure may reach."""
    nodes = post_order(*module.functions.values(), enter=lambda node: not is_opaque_function(node))
    return {
        node: frozenset(flow.closures(node))
        for node in nodes
        if isinstance(node, Call) and calls_closure(node)
    }


def _by_type(
    reached: Mapping[Call, frozenset[Function]],
) -> dict[Type, dict[frozenset[Function], None]]:
    """The different ones of calls of closures of one type, in the order of the calls."""
    found: dict[Type, dict[frozenset[Function], None]] = {}
    for call, functions in reached.items():
        found.setdefault(plain_type(_function_type(call.callee)), {})[functions] = None
    return found


def _names(stem: str, taken: Collection[str]) -> Callable[[], str]:
    """New names: the stem, then with numbers."""
    numbered = (f"{stem}_{number}" if number else stem for number in itertools.count())
    names = (name for name in numbered if name not in taken)
    return lambda: next(names)
