"""The meaning of programs: an evaluator over numpy, for debugging and as the oracle of tests.

It is a machine with an explicit stack of pending tasks, so neither deep graphs nor deep recursion
use the Python stack, and calls in tail position need no space. Each node is evaluated at most once
in each activation of its function; one that an enclosing activation has evaluated has that value.

>>> from relay_tune.ir.expr import Function, Var
>>> x = Var("x")
>>> interpret(Module.from_function(Function((x,), x)), 3.0)
array(3.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from relay_tune.errors import IndexRangeError, RelayError, Span
from relay_tune.ir.expr import (
    Call,
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
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children
from relay_tune.op_rules.indices.uses import require_valid_indices, value_type
from relay_tune.op_rules.typed import result_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.interpreter.inputs import bind_inputs
from relay_tune.runtime.interpreter.matching import first_match
from relay_tune.runtime.interpreter.values import (
    Closure,
    ConstructorValue,
    Frame,
    ReferenceCell,
    Value,
)

MAXIMUM_PENDING_TASKS = 5_000_000


OnValue = Callable[[Expr, Value], None]
"""on_value(expression, value): told of each value when it is found."""


def interpret(
    module: Module,
    *inputs: object,
    function: str = "main",
    on_value: OnValue | None = None,
    **named: object,
) -> Value:
    """The value of `function` of `module` at the given inputs (arrays, numbers, tuples of them).

    Args:
        module: the program, with types or without.
        inputs, named: the inputs, by position, by name, or as one dict from names.
        function: the function that is called.
        on_value: for debugging, is called with each expression that is no constant or name, and its
            value, and with each variable of a let or a pattern; a call in tail position is told of
            by what it leads to.

    Raises:
        InputError: the inputs do not fit.
        RelayError: evaluation cannot go on (no clause matches, a value of the wrong kind, recursion
            that does not end), with the location in the program.
    """
    body = require_module(module)[function]
    machine = _Machine(module, on_value)
    return machine.call(Closure(body, None), bind_inputs(body, inputs, named))


def evaluate(expr: Expr, module: Module | None = None, on_value: OnValue | None = None) -> Value:
    """The value of a closed expression; as `interpret`."""
    machine = _Machine(module if module is not None else Module({}), on_value)
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


_RESULT = Tuple(())
"""Stands for what the machine was asked for."""


class _Machine:
    def __init__(self, module: Module, on_value: OnValue | None) -> None:
        self._module = module
        self._on_value = on_value
        self._stack: list[_Task] = []

    def call(self, closure: Closure, arguments: list[Value]) -> Value:
        """The result of a closure; runs the machine until nothing is pending."""
        target, frame = _RESULT, Frame()
        try:
            self._enter(target, frame, closure, arguments)
            while self._stack:
                self._step(self._stack.pop())
        except RelayError as error:
            if isinstance(error.where, Span) and error.source_text is None:
                error.source_text = self._module.sources.get(error.where.source)
            raise
        return frame.values[target]

    def _step(self, task: _Task) -> None:
        match task:
            case _Evaluate(node, frame):
                if node not in frame.values:
                    self._evaluate(node, frame)
            case _Combine(node, frame):
                self._combine(node, frame)
            case _Copy(node, frame, source, source_frame):
                self._found(node, frame, source_frame.values[source])

    def _found(self, node: Expr, frame: Frame, value: Value) -> None:
        """The value of a node that had to be computed."""
        frame.values[node] = value
        if self._on_value is not None and node is not _RESULT:
            self._on_value(node, value)

    def _evaluate(self, node: Expr, frame: Frame) -> None:
        known = frame.lookup(node)
        if known is not None:
            frame.values[node] = known
            return
        match node:
            case Var():
                raise RelayError(
                    f"Variable %{node.name} has no value here.",
                    where=node.span,
                    remedy="Bind the variable with `let`, or make it a parameter.",
                )
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
                self._found(node.var, frame, values[node.value])
                self._continue_with(node, frame, node.body, frame)
            case If():
                taken = bool(_array(values[node.condition], node))
                branch = node.true_branch if taken else node.false_branch
                self._continue_with(node, frame, branch, frame)
            case Match():
                clause, bindings = first_match(node, values[node.value])
                for var, value in bindings.items():
                    self._found(var, frame, value)
                self._continue_with(node, frame, clause.body, frame)
            case _:
                self._found(node, frame, _simple_value(node, frame))

    def _call(self, node: Call, frame: Frame) -> None:
        callee = frame.values[node.callee]
        arguments = [frame.values[argument] for argument in node.arguments]
        match callee:
            case Operator():
                self._found(node, frame, _apply_operator(callee, node, arguments))
            case Constructor():
                self._found(node, frame, ConstructorValue(callee, tuple(arguments)))
            case Closure():
                self._enter(node, frame, callee, arguments)
            case _:
                raise RelayError(
                    "A value that is no function is called.",
                    where=node.span,
                    remedy="Check the program with rt.infer_types, which shows the types.",
                )

    def _enter(self, node: Expr, frame: Frame, closure: Closure, arguments: list[Value]) -> None:
        """Make the result of `closure` the value of `node` in `frame`."""
        params = closure.function.params
        if len(params) != len(arguments):
            raise RelayError(
                f"A function of {len(params)} parameter(s) is called with {len(arguments)}.",
                where=node.span,
                remedy="Check the program with rt.infer_types, which shows the types.",
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
            raise RelayError(
                f"{node!r} cannot be evaluated.",
                where=node.span,
                remedy="Only expressions of the language have values.",
            )


def _apply_operator(operator: Operator, call: Call, arguments: list[Value]) -> Value:
    attributes = call.attributes if call.attributes is not None else operator.attributes()
    try:
        result_type(operator, call, [value_type(value) for value in arguments])
        require_valid_indices(call, arguments)
        with np.errstate(all="ignore"):  # inf and NaN are values like others
            return _as_value(operator.reference(attributes, *arguments))
    except IndexRangeError:
        raise
    except (RelayError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        reason = error.message if isinstance(error, RelayError) else str(error)
        raise RelayError(
            f"Operator {operator.name} cannot be applied: {reason.rstrip('.')}.",
            where=call.span,
            remedy="Infer the types of the program first; they show what does not fit.",
        ) from error


def _as_value(result: object) -> Value:
    if isinstance(result, tuple | list):
        return tuple(_as_value(part) for part in result)
    return np.asarray(result)


def _array(value: Value, node: Expr) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise RelayError(
            "A tensor is needed here.",
            where=node.span,
            remedy="Check the program with rt.infer_types, which shows the types.",
        )
    return value


def _tuple(value: Value, node: Expr) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise RelayError(
            "A tuple is needed here.",
            where=node.span,
            remedy="Check the program with rt.infer_types, which shows the types.",
        )
    return value


def _cell(value: Value, node: Expr) -> ReferenceCell:
    if not isinstance(value, ReferenceCell):
        raise RelayError(
            "A reference is needed here.",
            where=node.span,
            remedy="Check the program with rt.infer_types, which shows the types.",
        )
    return value
