"""The meaning of programs: an evaluator over numpy, for debugging and as the oracle of tests.

It is a machine with an explicit stack of pending tasks, so neither deep graphs nor deep recursion
use the Python stack, and calls in tail position need no space. Each node is evaluated at most once
in each activation of its function.

>>> from relay_tune.ir.expr import Function, Var
>>> x = Var("x")
>>> interpret(Module.from_function(Function((x,), x)), 3.0)
array(3.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from relay_tune.errors import RelayError
from relay_tune.ir.expr import (
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
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children
from relay_tune.runtime.interpreter_inputs import bind_inputs
from relay_tune.runtime.interpreter_values import (
    Closure,
    ConstructorValue,
    Frame,
    ReferenceCell,
    Value,
)

MAXIMUM_PENDING_TASKS = 5_000_000


def interpret(module: Module, *inputs: object, function: str = "main", **named: object) -> Value:
    """The value of `function` of `module` at the given inputs (arrays, numbers, tuples of them).

    Raises InputError where the inputs do not fit, RelayError where evaluation cannot go on (no
    clause matches, a value of the wrong kind, recursion that does not end).
    """
    body = module[function]
    return _Machine(module).call(Closure(body, None), bind_inputs(body, inputs, named))


def evaluate(expr: Expr, module: Module | None = None) -> Value:
    """The value of a closed expression."""
    machine = _Machine(module if module is not None else Module({}))
    return machine.call(Closure(Function((), expr), None), [])


@dataclass(frozen=True, slots=True)
class _Evaluate:
    """Find the value of `node` in `frame`."""

    node: Expr
    frame: Frame


@dataclass(frozen=True, slots=True)
class _Combine:
    """The values of the children that are always needed are there: go on with `node`."""

    node: Expr
    frame: Frame


@dataclass(frozen=True, slots=True)
class _Copy:
    """The value of `node` in `frame` is that of `source` in `source_frame`."""

    node: Expr
    frame: Frame
    source: Expr
    source_frame: Frame


_Task: TypeAlias = _Evaluate | _Combine | _Copy


class _Machine:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._stack: list[_Task] = []

    def call(self, closure: Closure, arguments: list[Value]) -> Value:
        """The result of a closure; runs the machine until nothing is pending."""
        target, frame = Tuple(()), Frame()
        self._enter(target, frame, closure, arguments)
        while self._stack:
            self._step(self._stack.pop())
        return frame.values[target]

    def _step(self, task: _Task) -> None:
        match task:
            case _Evaluate(node, frame):
                if node not in frame.values:
                    self._evaluate(node, frame)
            case _Combine(node, frame):
                self._combine(node, frame)
            case _Copy(node, frame, source, source_frame):
                frame.values[node] = source_frame.values[source]

    def _evaluate(self, node: Expr, frame: Frame) -> None:
        match node:
            case Var():
                frame.values[node] = _variable(node, frame)
            case Constant():
                frame.values[node] = node.data
            case GlobalVar():
                frame.values[node] = Closure(self._module[node.name], None)
            case Function():
                frame.values[node] = Closure(node, frame)
            case Operator() | Constructor():
                frame.values[node] = node
            case _:
                self._stack.append(_Combine(node, frame))
                needed = _needed_first(node)
                self._stack.extend(_Evaluate(child, frame) for child in reversed(needed))

    def _combine(self, node: Expr, frame: Frame) -> None:
        values = frame.values
        match node:
            case Call():
                self._call(node, frame)
            case Let():
                values[node.var] = values[node.value]
                self._continue_with(node, frame, node.body, frame)
            case If():
                taken = bool(_array(values[node.condition], node))
                branch = node.true_branch if taken else node.false_branch
                self._continue_with(node, frame, branch, frame)
            case Match():
                clause = _first_match(node, values[node.value], frame)
                self._continue_with(node, frame, clause.body, frame)
            case _:
                values[node] = _simple_value(node, frame)

    def _call(self, node: Call, frame: Frame) -> None:
        callee = frame.values[node.callee]
        arguments = [frame.values[argument] for argument in node.arguments]
        match callee:
            case Operator():
                frame.values[node] = _apply_operator(callee, node, arguments)
            case Constructor():
                frame.values[node] = ConstructorValue(callee, tuple(arguments))
            case Closure():
                self._enter(node, frame, callee, arguments)
            case _:
                raise RelayError("A value that is no function is called.", where=node.span)

    def _enter(self, node: Expr, frame: Frame, closure: Closure, arguments: list[Value]) -> None:
        """Make the result of `closure` the value of `node` in `frame`."""
        params = closure.function.params
        if len(params) != len(arguments):
            raise RelayError(
                f"A function of {len(params)} parameter(s) is called with {len(arguments)}.",
                where=node.span,
            )
        if len(self._stack) > MAXIMUM_PENDING_TASKS:
            raise RelayError(
                "The program recurses too deeply.",
                where=node.span,
                notes=(f"More than {MAXIMUM_PENDING_TASKS} steps wait for a result.",),
                remedy="check that the recursion ends, or make the recursive call the last step",
            )
        callee_frame = Frame(dict(zip(params, arguments, strict=True)), closure.frame)
        self._continue_with(node, frame, closure.function.body, callee_frame)

    def _continue_with(self, node: Expr, frame: Frame, source: Expr, source_frame: Frame) -> None:
        """Let `node` have the value of `source`, which is still to be evaluated.

        Where `node` is what `frame` returns, the caller gets the value at once: nothing else of
        `frame` is evaluated later, and so tail calls take no space.
        """
        returns = self._stack[-1] if self._stack else None
        is_tail = (
            isinstance(returns, _Copy)
            and returns.source is node
            and returns.source_frame is frame
            and returns.frame is not frame
        )
        if is_tail and isinstance(returns, _Copy):
            self._stack[-1] = _Copy(returns.node, returns.frame, source, source_frame)
        else:
            self._stack.append(_Copy(node, frame, source, source_frame))
        self._stack.append(_Evaluate(source, source_frame))


def _needed_first(node: Expr) -> tuple[Expr, ...]:
    """The children that are evaluated before it is known which others are."""
    match node:
        case Let() | Match():
            return (node.value,)
        case If():
            return (node.condition,)
        case _:
            return children(node)


def _variable(var: Var, frame: Frame) -> Value:
    value = frame.lookup(var)
    if value is None:
        raise RelayError(f"Variable %{var.name} has no value here.", where=var.span)
    return value


def _simple_value(node: Expr, frame: Frame) -> Value:
    values = frame.values
    match node:
        case Tuple():
            return tuple(values[field] for field in node.fields)
        case TupleGetItem():
            return _tuple(values[node.tuple_value], node)[node.index]
        case RefCreate():
            return ReferenceCell(values[node.value])
        case RefRead():
            return _cell(values[node.ref], node).value
        case RefWrite():
            _cell(values[node.ref], node).value = values[node.value]
            return ()
        case _:
            raise RelayError(f"{node!r} cannot be evaluated.", where=node.span)


def _apply_operator(operator: Operator, call: Call, arguments: list[Value]) -> Value:
    attributes = call.attributes if call.attributes is not None else operator.attributes()
    return _as_value(operator.reference(attributes, *arguments))


def _as_value(result: object) -> Value:
    if isinstance(result, tuple | list):
        return tuple(_as_value(part) for part in result)
    return np.asarray(result)


def _array(value: Value, node: Expr) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise RelayError("A tensor is needed here.", where=node.span)
    return value


def _tuple(value: Value, node: Expr) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise RelayError("A tuple is needed here.", where=node.span)
    return value


def _cell(value: Value, node: Expr) -> ReferenceCell:
    if not isinstance(value, ReferenceCell):
        raise RelayError("A reference is needed here.", where=node.span)
    return value


def _first_match(node: Match, value: Value, frame: Frame) -> Clause:
    """The first clause that fits `value`, its variables bound in `frame`."""
    for clause in node.clauses:
        bindings: dict[Expr, Value] = {}
        if _matches(clause.pattern, value, bindings):
            frame.values.update(bindings)
            return clause
    raise RelayError(f"No clause of the match fits {value!r}.", where=node.span)


def _matches(pattern: Pattern, value: Value, bindings: dict[Expr, Value]) -> bool:
    match pattern:
        case VarPattern():
            bindings[pattern.var] = value
            return True
        case ConstructorPattern():
            if not isinstance(value, ConstructorValue):
                return False
            wanted, found = pattern.constructor, value.constructor
            if (wanted.name, wanted.belongs_to) != (found.name, found.belongs_to):
                return False
            return _all_match(pattern.patterns, value.fields, bindings)
        case TuplePattern():
            return isinstance(value, tuple) and _all_match(pattern.patterns, value, bindings)
        case _:
            return True


def _all_match(
    patterns: tuple[Pattern, ...], values: tuple[Value, ...], bindings: dict[Expr, Value]
) -> bool:
    if len(patterns) != len(values):
        return False
    return all(_matches(p, v, bindings) for p, v in zip(patterns, values, strict=True))
