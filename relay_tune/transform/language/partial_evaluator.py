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
class _State:
    """Where evaluation stands: what is bound, where the residual program goes, what cells hold."""

    scope: Activation
    block: Residual
    store: Store
    calls: UnfoldedCall | None

    def branch(self) -> _State:
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
        state = _State(Activation(values, outer), Residual(), {}, calls)
        body = yield self._block(function.body, state)
        result = function.result_type
        if isinstance(function.type, FuncType) and function in self._unfolding.recursive:
            result = function.type.result
        return Function(params, body, result, (), function.attributes, span=function.span)

    def _block(self, expr: Expr, state: _State) -> Step:
        value = yield self._evaluate(expr, state)
        return state.block.ending((yield self._name(value)))

    # expressions

    def _evaluate(self, expr: Expr, state: _State) -> Step:
        while isinstance(expr, Let):
            state.scope.values[expr.var] = yield self._bound(expr, state)
            expr = expr.body
        match expr:
            case Call():
                return (yield self._call(expr, state))
            case If():
                return (yield self._if(expr, state))
            case Match():
                return (yield self._match(expr, state))
            case RefCreate() | RefRead() | RefWrite():
                return (yield self._cell(expr, state))
            case _:
                return (yield self._simple(expr, state))

    def _bound(self, let: Let, state: _State) -> Step:
        """The value of a let; a closure may be called in its own body."""
        if not isinstance(let.value, Function) or let.value.is_primitive:
            return (yield self._evaluate(let.value, state))
        scope = Activation({}, state.scope)
        closure = state.block.reserve(KnownClosure(let.value, scope), let.var.name)
        scope.values[let.var] = closure
        return closure

    def _simple(self, expr: Expr, state: _State) -> Step:
        match expr:
            case Var():
                return state.scope.find(expr)
            case Constant():
                return PartialValue(expr.data, Constant(expr.data))
            case GlobalVar():
                return PartialValue(GlobalVar(expr.name), GlobalVar(expr.name))
            case Function() if not expr.is_primitive:
                return state.block.reserve(KnownClosure(expr, state.scope))
            case Tuple():
                fields = []
                for field in expr.fields:
                    fields.append((yield self._evaluate(field, state)))
                return state.block.reserve(KnownTuple(tuple(fields)))
            case TupleGetItem():
                whole = yield self._evaluate(expr.tuple_value, state)
                if isinstance(whole.known, KnownTuple):
                    return whole.known.fields[expr.index]
                return state.block.bind(TupleGetItem((yield self._name(whole)), expr.index))
            case _:
                return PartialValue(expr=expr)

    # cells

    def _cell(self, expr: Expr, state: _State) -> Step:
        match expr:
            case RefCreate():
                held = yield self._evaluate(expr.value, state)
                made = state.block.bind(RefCreate((yield self._name(held))), "cell")
                cell = KnownCell()
                state.store[cell] = held
                return PartialValue(cell, made.expr)
            case RefRead():
                cell_value = yield self._evaluate(expr.ref, state)
                known = cell_value.known
                if isinstance(known, KnownCell) and known in state.store:
                    return state.store[known]
                read = state.block.bind(RefRead((yield self._name(cell_value))))
                if isinstance(known, KnownCell):
                    state.store[known] = read
                return read
            case RefWrite():
                cell_value = yield self._evaluate(expr.ref, state)
                new = yield self._evaluate(expr.value, state)
                write = RefWrite((yield self._name(cell_value)), (yield self._name(new)))
                if isinstance(cell_value.known, KnownCell):
                    state.store[cell_value.known] = new
                else:
                    state.store.clear()
                return state.block.bind(write, "_")
            case _:
                raise AssertionError(expr)

    # choices

    def _if(self, expr: If, state: _State) -> Step:
        condition = yield self._evaluate(expr.condition, state)
        if isinstance(condition.known, np.ndarray):
            taken = expr.true_branch if bool(condition.known) else expr.false_branch
            return (yield self._evaluate(taken, state))
        branch_states = [state.branch(), state.branch()]
        branches = []
        for branch, inner in zip((expr.true_branch, expr.false_branch), branch_states, strict=True):
            branches.append((yield self._block(branch, inner)))
        _meet(state, branch_states)
        return state.block.bind(If((yield self._name(condition)), *branches, span=expr.span))

    def _match(self, expr: Match, state: _State) -> Step:
        value = yield self._evaluate(expr.value, state)
        for clause in expr.clauses:
            bound: dict[Var, PartialValue] = {}
            fits = match_value(clause.pattern, value, bound)
            if fits is None:
                break
            if fits:
                state.scope.values.update(bound)
                return (yield self._evaluate(clause.body, state))
        return (yield self._residual_match(expr, value, state))

    def _residual_match(self, expr: Match, value: PartialValue, state: _State) -> Step:
        branch_states: list[_State] = []
        clauses = []
        for clause in expr.clauses:
            inner = state.branch()
            branch_states.append(inner)

            def bind(var: Var) -> Var:
                new = Var(var.name, var.annotation)
                state.scope.values[var] = PartialValue(expr=new)
                return new

            pattern = map_pattern_vars(clause.pattern, bind)
            clauses.append(Clause(pattern, (yield self._block(clause.body, inner))))
        _meet(state, branch_states)
        name = yield self._name(value)
        return state.block.bind(Match(name, tuple(clauses), expr.complete, span=expr.span))

    # calls

    def _call(self, call: Call, state: _State) -> Step:
        arguments = []
        callee = PartialValue(expr=call.callee)
        if not isinstance(call.callee, Operator | Constructor) and not is_opaque_function(
            call.callee
        ):
            callee = yield self._evaluate(call.callee, state)
        for argument in call.arguments:
            arguments.append((yield self._evaluate(argument, state)))
        if isinstance(callee.expr, Operator):
            return (yield self._operator_call(call, arguments, state))
        if isinstance(callee.expr, Constructor):
            data = KnownData(callee.expr, tuple(arguments), call.type_arguments)
            return state.block.reserve(data)
        if is_opaque_function(call.callee):
            return state.block.bind(replace((yield self._rebuilt(call, arguments)), type=None))
        return (yield self._function_call(call, callee, arguments, state))

    def _operator_call(self, call: Call, arguments: list[PartialValue], state: _State) -> Step:
        constants = [known_constant(argument) for argument in arguments]
        known = tuple(constant for constant in constants if constant is not None)
        if len(known) == len(constants):
            folded = FOLD.folded(replace(call, arguments=known))
            if isinstance(folded, Constant | Tuple):
                return (yield self._evaluate(folded, state))
        return state.block.bind(replace((yield self._rebuilt(call, arguments)), type=None))

    def _rebuilt(self, call: Call, arguments: list[PartialValue]) -> Step:
        return replace(call, arguments=(yield self._names(arguments)))

    def _function_call(
        self, call: Call, callee: PartialValue, arguments: list[PartialValue], state: _State
    ) -> Step:
        function, outer = self._target(callee.known)
        sizes = tuple(map(size_of, arguments))
        if function is not None and self._unfolding.allows(function, sizes, state.calls):
            calls = self._unfolding.enter(function, sizes, state.calls)
            scope = Activation(dict(zip(function.params, arguments, strict=True)), outer)
            return (yield self._evaluate(function.body, replace(state, scope=scope, calls=calls)))
        rebuilt = yield self._rebuilt(call, arguments)
        state.store.clear()
        name = yield self._name(callee)
        return state.block.bind(replace(rebuilt, callee=name, type=None))

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


def _meet(state: _State, branch_states: list[_State]) -> None:
    """After a choice, the cells hold what they hold whichever way was taken."""
    common = agreeing([inner.store for inner in branch_states]) if branch_states else {}
    state.store.clear()
    state.store.update(common)
