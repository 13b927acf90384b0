"""The evaluator of partial evaluation: programs in A-normal form, with values known in part."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import map_pattern_vars
from relay_tune.ir.types import FuncType
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.language.partial_values import (
    Activation,
    Known,
    KnownCell,
    KnownClosure,
    KnownData,
    KnownTuple,
    PartialValue,
    Residual,
    ResidualLet,
    Store,
    agreeing,
    known_constant,
    match_value,
    size_of,
)
from relay_tune.transform.language.unfolding import UnfoldedCall, Unfolding, uncertain_call

Step = Generator[Any, Any, Any]
"""A step of evaluation, for `relay_tune.ir.trampoline`: yields steps, and is sent their results,
which are values, names in the residual program, or functions of it."""

FOLD = FoldConstants(maximum_growth=1)


@dataclass(frozen=True)
class _Place:
    """Where evaluation stands: what is bound, where the residual program goes, what cells hold."""

    scope: Activation
    block: Residual
    store: Store
    calls: UnfoldedCall | None

    def branch(self) -> _Place:
        """A block that may be evaluated or not."""
        return replace(self, block=Residual(), store=dict(self.store))


class PartialEvaluator:
    """Evaluates the functions of a module."""

    def __init__(self, module: Module, unfolding: Unfolding) -> None:
        self._module = module
        self._unfolding = unfolding

    def whole(self, function: Function) -> Step:
        """A function of the module, evaluated without knowing its arguments."""
        if function.is_primitive:
            return function
        return (yield self._residual_function(function, Activation(), uncertain_call(function)))

    def _residual_function(
        self, function: Function, outer: Activation, calls: UnfoldedCall | None
    ) -> Step:
        """A function for any arguments, to be called at any time: no cell is known in it."""
        params = tuple(Var(p.name, p.annotation or p.type) for p in function.params)
        values = {
            old: PartialValue(expr=new) for old, new in zip(function.params, params, strict=True)
        }
        place = _Place(Activation(values, outer), Residual(), {}, calls)
        body = yield self._block(function.body, place)
        result = function.result_type
        if isinstance(function.type, FuncType) and function in self._unfolding.recursive:
            result = function.type.result
        return Function(params, body, result, (), function.attributes, span=function.span)

    def _block(self, expr: Expr, place: _Place) -> Step:
        value = yield self._evaluate(expr, place)
        return place.block.ending((yield self._name(value)))

    # expressions

    def _evaluate(self, expr: Expr, place: _Place) -> Step:
        while isinstance(expr, Let):
            place.scope.values[expr.var] = yield self._bound(expr, place)
            expr = expr.body
        match expr:
            case Call():
                return (yield self._call(expr, place))
            case If():
                return (yield self._if(expr, place))
            case Match():
                return (yield self._match(expr, place))
            case RefCreate() | RefRead() | RefWrite():
                return (yield self._cell(expr, place))
            case _:
                return (yield self._simple(expr, place))

    def _bound(self, let: Let, place: _Place) -> Step:
        """The value of a let; a closure may be called in its own body."""
        if not isinstance(let.value, Function) or let.value.is_primitive:
            return (yield self._evaluate(let.value, place))
        scope = Activation({}, place.scope)
        closure = place.block.reserve(KnownClosure(let.value, scope), let.var.name)
        scope.values[let.var] = closure
        return closure

    def _simple(self, expr: Expr, place: _Place) -> Step:
        match expr:
            case Var():
                return place.scope.find(expr)
            case Constant():
                return PartialValue(expr.data, Constant(expr.data))
            case GlobalVar():
                return PartialValue(GlobalVar(expr.name), GlobalVar(expr.name))
            case Function() if not expr.is_primitive:
                return place.block.reserve(KnownClosure(expr, place.scope))
            case Tuple():
                fields = []
                for field in expr.fields:
                    fields.append((yield self._evaluate(field, place)))
                return place.block.reserve(KnownTuple(tuple(fields)))
            case TupleGetItem():
                whole = yield self._evaluate(expr.tuple_value, place)
                if isinstance(whole.known, KnownTuple):
                    return whole.known.fields[expr.index]
                return place.block.bind(TupleGetItem((yield self._name(whole)), expr.index))
            case _:
                return PartialValue(expr=expr)

    # cells

    def _cell(self, expr: Expr, place: _Place) -> Step:
        match expr:
            case RefCreate():
                held = yield self._evaluate(expr.value, place)
                made = place.block.bind(RefCreate((yield self._name(held))), "cell")
                cell = KnownCell()
                place.store[cell] = held
                return PartialValue(cell, made.expr)
            case RefRead():
                cell_value = yield self._evaluate(expr.ref, place)
                known = cell_value.known
                if isinstance(known, KnownCell) and known in place.store:
                    return place.store[known]
                read = place.block.bind(RefRead((yield self._name(cell_value))))
                if isinstance(known, KnownCell):
                    place.store[known] = read
                return read
            case RefWrite():
                cell_value = yield self._evaluate(expr.ref, place)
                new = yield self._evaluate(expr.value, place)
                write = RefWrite((yield self._name(cell_value)), (yield self._name(new)))
                if isinstance(cell_value.known, KnownCell):
                    place.store[cell_value.known] = new
                else:
                    place.store.clear()
                return place.block.bind(write, "_")
            case _:
                raise AssertionError(expr)

    # choices

    def _if(self, expr: If, place: _Place) -> Step:
        condition = yield self._evaluate(expr.condition, place)
        if isinstance(condition.known, np.ndarray):
            taken = expr.true_branch if bool(condition.known) else expr.false_branch
            return (yield self._evaluate(taken, place))
        places = [place.branch(), place.branch()]
        branches = []
        for branch, inner in zip((expr.true_branch, expr.false_branch), places, strict=True):
            branches.append((yield self._block(branch, inner)))
        _meet(place, places)
        return place.block.bind(If((yield self._name(condition)), *branches, span=expr.span))

    def _match(self, expr: Match, place: _Place) -> Step:
        value = yield self._evaluate(expr.value, place)
        for clause in expr.clauses:
            bound: dict[Var, PartialValue] = {}
            fits = match_value(clause.pattern, value, bound)
            if fits is None:
                break
            if fits:
                place.scope.values.update(bound)
                return (yield self._evaluate(clause.body, place))
        return (yield self._residual_match(expr, value, place))

    def _residual_match(self, expr: Match, value: PartialValue, place: _Place) -> Step:
        places: list[_Place] = []
        clauses = []
        for clause in expr.clauses:
            inner = place.branch()
            places.append(inner)

            def bind(var: Var) -> Var:
                new = Var(var.name, var.annotation)
                place.scope.values[var] = PartialValue(expr=new)
                return new

            pattern = map_pattern_vars(clause.pattern, bind)
            clauses.append(Clause(pattern, (yield self._block(clause.body, inner))))
        _meet(place, places)
        name = yield self._name(value)
        return place.block.bind(Match(name, tuple(clauses), expr.complete, span=expr.span))

    # calls

    def _call(self, call: Call, place: _Place) -> Step:
        arguments = []
        callee = PartialValue(expr=call.callee)
        if not isinstance(call.callee, Operator | Constructor) and not is_opaque_function(
            call.callee
        ):
            callee = yield self._evaluate(call.callee, place)
        for argument in call.arguments:
            arguments.append((yield self._evaluate(argument, place)))
        if isinstance(callee.expr, Operator):
            return (yield self._operator_call(call, arguments, place))
        if isinstance(callee.expr, Constructor):
            data = KnownData(callee.expr, tuple(arguments), call.type_arguments)
            return place.block.reserve(data)
        if is_opaque_function(call.callee):
            return place.block.bind(replace((yield self._rebuilt(call, arguments)), type=None))
        return (yield self._function_call(call, callee, arguments, place))

    def _operator_call(self, call: Call, arguments: list[PartialValue], place: _Place) -> Step:
        constants = [known_constant(argument) for argument in arguments]
        known = tuple(constant for constant in constants if constant is not None)
        if len(known) == len(constants):
            folded = FOLD.folded(replace(call, arguments=known))
            if isinstance(folded, Constant | Tuple):
                return (yield self._evaluate(folded, place))
        return place.block.bind(replace((yield self._rebuilt(call, arguments)), type=None))

    def _rebuilt(self, call: Call, arguments: list[PartialValue]) -> Step:
        return replace(call, arguments=(yield self._names(arguments)))

    def _function_call(
        self, call: Call, callee: PartialValue, arguments: list[PartialValue], place: _Place
    ) -> Step:
        function, outer = self._target(callee.known)
        sizes = tuple(map(size_of, arguments))
        if function is not None and self._unfolding.allows(function, sizes, place.calls):
            calls = self._unfolding.enter(function, sizes, place.calls)
            scope = Activation(dict(zip(function.params, arguments, strict=True)), outer)
            return (yield self._evaluate(function.body, replace(place, scope=scope, calls=calls)))
        rebuilt = yield self._rebuilt(call, arguments)
        place.store.clear()
        name = yield self._name(callee)
        return place.block.bind(replace(rebuilt, callee=name, type=None))

    def _target(self, known: Known | None) -> tuple[Function | None, Activation | None]:
        """The function that a known value is, and the scope around it."""
        match known:
            case GlobalVar():
                function = self._module.functions.get(known.name)
                return (None if function is None or function.is_primitive else function), None
            case KnownClosure():
                return known.function, known.scope
            case _:
                return None, None

    # names

    def _name(self, value: PartialValue) -> Step:
        """The name of a value in the residual program; what makes it is written now."""
        if value.expr is None and value.binding is not None:
            value.expr = value.binding.var
            yield self._write(value.known, value.binding)
        assert value.expr is not None
        return value.expr

    def _write(self, known: Known | None, binding: ResidualLet) -> Step:
        match known:
            case KnownTuple():
                binding.value = Tuple((yield self._names(known.fields)))
            case KnownData():
                fields = yield self._names(known.fields)
                binding.value = Call(known.constructor, fields, None, known.types)
            case KnownClosure():
                calls = uncertain_call(known.function)
                binding.value = yield self._residual_function(known.function, known.scope, calls)
        return binding.var

    def _names(self, values: Iterable[PartialValue]) -> Step:
        names = []
        for value in values:
            names.append((yield self._name(value)))
        return tuple(names)


def _meet(place: _Place, places: list[_Place]) -> None:
    """After a choice, the cells hold what they hold whichever way was taken."""
    common = agreeing([inner.store for inner in places]) if places else {}
    place.store.clear()
    place.store.update(common)
