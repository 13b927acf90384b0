"""Copies of functions for given type arguments.

A copy is made from the types that are wanted: where an expression is polymorphic, its user says at
which instance, and the expression is copied for that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from relay_tune.errors import BuildError
from relay_tune.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
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
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.traversal import map_pattern_vars
from relay_tune.ir.types import UNIT, FuncType, RefType, TupleType, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.polymorphism import (
    is_polymorphic,
    type_arguments,
    with_unit_defaults,
)
from relay_tune.typing.type_terms import substitute_vars
from relay_tune.typing.type_text import type_text

Copying = Recursive[Expr]


@dataclass(frozen=True, slots=True)
class Instance:
    """At which types a function is used.

    Attributes:
        arguments: what its type parameters stand for.
        result: what it returns, where that is polymorphic in turn; else None.
    """

    arguments: tuple[Type, ...] = ()
    result: Type | None = None


UseGlobal = Callable[[GlobalVar, Instance], GlobalVar]


class InstanceCopy:
    """Copies the body of one function, in which type parameters stand for concrete types.

    The copy of a closure with type parameters of its own has `outer`, which knows the variables
    around it. Every variable that a copy binds is new.
    """

    def __init__(
        self,
        use_global: UseGlobal,
        has_effect: Callable[[Expr], bool],
        types: Mapping[Type, Type] | None = None,
        outer: InstanceCopy | None = None,
    ) -> None:
        self._use_global = use_global
        self._has_effect = has_effect
        self._types = {} if types is None else types
        self._outer = outer
        self._variables: dict[Var, Var] = {}
        self._copies: dict[Var, dict[Type, Var]] = {}
        self._done: dict[tuple[Expr, Type | None], Expr] = {}

    def function(self, function: Function, instance: Instance) -> Function:
        """The copy of a function for these types."""
        copied = run(self._instance(function, instance))
        assert isinstance(copied, Function)
        return copied

    def _instance(self, function: Function, instance: Instance) -> Copying:
        types = dict(self._types)
        types.update(zip(function.type_params, instance.arguments, strict=True))
        inside = InstanceCopy(self._use_global, self._has_effect, types, self)
        return inside._monomorphic(function, instance.result)

    def _monomorphic(self, function: Function, result: Type | None) -> Copying:
        params = tuple(self._bind(param, annotated=True) for param in function.params)
        if result is None and isinstance(function.type, FuncType):
            result = self._concrete(function.type.result)
        body = yield self._copy(function.body, result)
        written = function.result_type is not None or function.type_params
        return replace(
            function,
            params=params,
            body=body,
            result_type=result if written else None,
            type_params=(),
            type=None,
        )

    def _copy(self, node: Expr, wanted: Type | None = None) -> Copying:
        """The copy of a node; `wanted` says at which instance, where its type is polymorphic."""
        if not is_polymorphic(node.type) or isinstance(node, Operator):
            wanted = None
        else:
            wanted = with_unit_defaults(self._type(node) if wanted is None else wanted)
        key = (node, wanted)
        if key not in self._done:
            self._done[key] = yield self._build(node, wanted)
        return self._done[key]

    def _build(self, node: Expr, wanted: Type | None) -> Copying:
        match node:
            case Var():
                return self._use(node, wanted)
            case GlobalVar():
                return self._use_global(node, _instance_of(node, wanted))
            case Function():
                return (yield self._instance(node, _instance_of(node, wanted)))
            case Constructor() if isinstance(wanted, FuncType):
                return _closure_of(node, wanted)
            case Call():
                return (yield self._call(node, wanted))
            case Let():
                return (yield self._let(node, wanted))
            case If():
                condition = yield self._copy(node.condition)
                branches = []
                for branch in (node.true_branch, node.false_branch):
                    branches.append((yield self._copy(branch, wanted or self._type(node))))
                return If(condition, *branches, span=node.span)
            case Match():
                return (yield self._match(node, wanted))
            case Tuple() | TupleGetItem() | RefCreate() | RefRead() | RefWrite():
                return (yield self._simple(node, wanted))
            case Constant():
                return Constant(node.data, span=node.span)
            case _:
                return node

    def _simple(self, node: Expr, wanted: Type | None) -> Copying:
        match node:
            case Tuple():
                types = _field_types(wanted or self._type(node), len(node.fields))
                fields = []
                for field, type_ in zip(node.fields, types, strict=True):
                    fields.append((yield self._copy(field, type_)))
                return Tuple(tuple(fields), span=node.span)
            case TupleGetItem():
                whole = _with_field(self._type(node.tuple_value), node.index, wanted)
                value = yield self._copy(node.tuple_value, whole)
                return TupleGetItem(value, node.index, span=node.span)
            case RefCreate():
                held = self._held_type(node)
                return RefCreate((yield self._copy(node.value, held)), span=node.span)
            case RefRead():
                return RefRead((yield self._copy(node.ref)), span=node.span)
            case RefWrite():
                ref = yield self._copy(node.ref)
                value = yield self._copy(node.value, self._held_type(node.ref))
                return RefWrite(ref, value, span=node.span)
            case _:
                return node

    def _call(self, call: Call, wanted: Type | None) -> Copying:
        given = tuple(map(self._concrete, call.type_arguments))
        used_as = self._callee_type(call, given)
        callee = call.callee
        if not isinstance(callee, Operator | Constructor):
            if used_as is not None and wanted is not None:
                used_as = FuncType(used_as.params, wanted)
            callee = yield self._copy(callee, used_as)
        params = used_as.params if used_as is not None else (None,) * len(call.arguments)
        arguments = []
        for argument, type_ in zip(call.arguments, params, strict=True):
            arguments.append((yield self._copy(argument, type_)))
        return Call(
            callee,
            tuple(arguments),
            call.attributes,
            given if isinstance(callee, Constructor) else (),
            span=call.span,
        )

    def _callee_type(self, call: Call, given: tuple[Type, ...]) -> FuncType | None:
        """The type at which a call uses its callee; None for operators."""
        type_ = call.callee.type
        if not isinstance(type_, FuncType):
            return None
        if type_.type_params and not given:
            types = (self._type(argument) for argument in call.arguments)
            given = type_arguments(type_, FuncType(tuple(types), self._type(call)))
        mapping = dict(self._types)
        mapping.update(zip(type_.type_params, given, strict=True))
        body = substitute_vars(FuncType(type_.params, type_.result), mapping)
        return body if isinstance(body, FuncType) else None

    def _let(self, let: Let, wanted: Type | None) -> Copying:
        if is_polymorphic(let.var.type):
            return (yield self._general_let(let, wanted))
        var = self._bind(let.var)
        value = yield self._copy(let.value, self._type(let.var))
        body = yield self._copy(let.body, wanted or self._type(let))
        return Let(var, value, body, span=let.span)

    def _general_let(self, let: Let, wanted: Type | None) -> Copying:
        """One binding for each instance at which the body uses the variable; perhaps none.

        What may have an effect is evaluated once, and so has one instance.
        """
        copies = self._copies[let.var] = {}
        result = yield self._copy(let.body, wanted or self._type(let))
        if self._has_effect(let.value):
            if len(copies) > 1:
                raise _no_instance(let.var)
            if not copies:
                copies[with_unit_defaults(self._type(let.var))] = Var(let.var.name)
        needed = list(copies.items())
        for used_as, var in reversed(needed):
            value = yield self._copy(let.value, used_as)
            result = Let(var, value, result, span=let.span)
        if len(copies) > len(needed):
            raise _no_instance(let.var)
        return result

    def _match(self, node: Match, wanted: Type | None) -> Copying:
        value = yield self._copy(node.value, self._matched_type(node))
        clauses = []
        for clause in node.clauses:
            pattern = map_pattern_vars(clause.pattern, self._bind)
            body = yield self._copy(clause.body, wanted or self._type(node))
            clauses.append(Clause(pattern, body))
        return Match(value, tuple(clauses), node.complete, span=node.span)

    def _matched_type(self, node: Match) -> Type:
        """The type of what is matched; where it is polymorphic, patterns say at which instance."""
        type_ = self._type(node.value)
        for clause in node.clauses:
            if is_polymorphic(type_) and isinstance(clause.pattern, TuplePattern):
                type_ = self._pattern_type(clause.pattern, type_)
        return type_

    def _pattern_type(self, pattern: Pattern, type_: Type) -> Type:
        match pattern:
            case VarPattern():
                return self._type(pattern.var)
            case TuplePattern() if isinstance(type_, TupleType):
                pairs = zip(pattern.patterns, type_.fields, strict=True)
                return TupleType(tuple(self._pattern_type(part, field) for part, field in pairs))
            case _:
                return type_

    # variables

    def _bind(self, var: Var, annotated: bool = False) -> Var:
        annotation = self._type(var) if annotated or var.annotation is not None else None
        copy = self._variables[var] = Var(var.name, annotation, span=var.span)
        return copy

    def _use(self, var: Var, wanted: Type | None) -> Var:
        """The copy of a variable, where it is bound or around there."""
        scope: InstanceCopy | None = self
        while scope is not None:
            if var in scope._variables:
                if wanted is not None:
                    raise _no_instance(var)
                return scope._variables[var]
            if var in scope._copies and wanted is not None:
                copies = scope._copies[var]
                return copies.setdefault(wanted, Var(var.name, span=var.span))
            scope = scope._outer
        return var

    # types

    def _type(self, node: Expr) -> Type:
        return UNIT if node.type is None else self._concrete(node.type)

    def _held_type(self, cell: Expr) -> Type | None:
        type_ = self._type(cell)
        return type_.value if isinstance(type_, RefType) else None

    def _concrete(self, type_: Type) -> Type:
        return substitute_vars(type_, self._types)


def _instance_of(node: Expr, wanted: Type | None) -> Instance:
    """At which types a function is used where its type is `wanted`."""
    if not isinstance(node.type, FuncType) or not isinstance(wanted, FuncType):
        return Instance()
    result = wanted.result if is_polymorphic(node.type.result) else None
    return Instance(type_arguments(node.type, wanted), result)


def _closure_of(constructor: Constructor, wanted: FuncType) -> Function:
    """A function of concrete types that calls a constructor."""
    params = tuple(Var(f"p{index}", type_) for index, type_ in enumerate(wanted.params))
    return Function(params, Call(constructor, params), wanted.result)


def _field_types(type_: Type, count: int) -> tuple[Type | None, ...]:
    return type_.fields if isinstance(type_, TupleType) else (None,) * count


def _with_field(whole: Type, index: int, field: Type | None) -> Type:
    """A tuple type in which the type of one field is decided."""
    if field is None or not isinstance(whole, TupleType):
        return whole
    return TupleType((*whole.fields[:index], field, *whole.fields[index + 1 :]))


def _no_instance(node: Expr) -> BuildError:
    type_ = "" if node.type is None else f" of type {type_text(node.type)}"
    return BuildError(
        f"A value{type_} is used at several types, and cannot be copied for each.",
        where=node.span,
        remedy="Bind the function with let or def, and use that name at each type.",
    )
