"""Which closures a call may reach.

    let %f = fn (%a: float32) { multiply(%a, %x) };
    let %g = fn (%a: float32) { tanh(%a) };
    let %pair = (%f, %g);
    let %h = %pair.1;
    %h(%x)                  reaches the closure of %g, not that of %f, which has the same type

A value is the set of expressions that may have made it: closures, and cells, tuples and data that
hold some, whose parts are values as well. Sets flow along bindings, branches, arguments and results
of functions; calls of closures, and what is read from cells, tuples and data, add such edges while
the sets grow. Each function is looked at once, whoever calls it. See O. Shivers, "Control flow
analysis in Scheme", 1988.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from relay_tune.ir.expr import (
    Call,
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
from relay_tune.ir.traversal import children, post_order
from relay_tune.ir.types import Type, TypeCall
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.transform.language.polymorphism import contains_function
from relay_tune.typing.call_graph import functions_used_by
from relay_tune.typing.type_terms import parts, with_parts

SetVariable = Hashable
"""Whose set of values is looked for: an expression, a variable, or a part of a value."""

EVERYTHING: SetVariable = "everything"
"""Its set has all values that are made anywhere."""


class ClosureFlow:
    """The closures that reach the calls of a typed module in A-normal form.

    Functions that its entry does not use may be given any closure.
    """

    def __init__(self, module: Module, entry: str) -> None:
        self._module = module
        self._values: defaultdict[SetVariable, dict[Expr, None]] = defaultdict(dict)
        self._readers: defaultdict[SetVariable, list[Callable[[Expr], None]]] = defaultdict(list)
        self._pending: list[tuple[Expr, Callable[[Expr], None]]] = []
        used = functions_used_by(module, entry)
        for name, function in module.functions.items():
            for param in function.params if name not in used else ():
                self._flow(EVERYTHING, param)
            for node in post_order(function.body, enter=lambda each: not is_opaque_function(each)):
                if not is_opaque_function(node):
                    self._add(node)
        while self._pending:
            value, reader = self._pending.pop()
            reader(value)

    def closures(self, call: Call) -> tuple[Function, ...]:
        """The closures that a call of one may reach, in an order that depends on nothing else."""
        type_ = _type(call.callee)
        values = self._values[call.callee]
        return tuple(each for each in values if isinstance(each, Function) and _type(each) == type_)

    def values(self, node: Expr) -> frozenset[Expr]:
        """What may have made the value of an expression that is a closure or may hold some."""
        return frozenset(self._values[node])

    def _add(self, node: Expr) -> None:
        """The edges that a node makes."""
        match node:
            case Let():
                self._flow(node.value, node.var)
                self._flow(node.body, node)
            case If():
                self._flow(node.true_branch, node)
                self._flow(node.false_branch, node)
            case Match():
                for clause in node.clauses:
                    self._bind(node.value, clause.pattern)
                    self._flow(clause.body, node)
            case Function() | RefCreate() | Tuple() | Call(callee=Constructor()):
                self._make(node)
            case TupleGetItem():
                self._read(node.tuple_value, Tuple, node.index, node)
            case RefRead():
                self._read(node.ref, RefCreate, 0, node)
            case RefWrite():
                self._write(node)
            case Call(callee=GlobalVar(name=name)):
                self._call(node, self._module[name])
            case Call() if calls_closure(node):
                self._call_closures(node)
            case Call():
                self._flow(EVERYTHING, node)

    def _make(self, node: Expr) -> None:
        """A value that is a closure or may hold some."""
        if node.type is not None and not contains_function(node.type):
            return
        self._put(node, node)
        self._put(node, EVERYTHING)
        if not isinstance(node, Function):
            for index, child in enumerate(_held(node)):
                self._flow(child, (node, index))

    def _read(self, source: SetVariable, kind: type[Expr], index: int, target: SetVariable) -> None:
        """A part of each value of a kind that `source` has."""

        def reader(value: Expr) -> None:
            if isinstance(value, kind) and index < len(_held(value)):
                self._flow((value, index), target)

        self._listen(source, reader)

    def _write(self, node: RefWrite) -> None:
        def reader(cell: Expr) -> None:
            if isinstance(cell, RefCreate):
                self._flow(node.value, (cell, 0))

        self._listen(node.ref, reader)

    def _bind(self, source: SetVariable, pattern: Pattern) -> None:
        """What the variables of a pattern are given."""
        match pattern:
            case VarPattern():
                self._flow(source, pattern.var)
            case TuplePattern():
                for index, part in enumerate(pattern.patterns):
                    self._read(source, Tuple, index, part)
                    self._bind(part, part)
            case ConstructorPattern():
                for index, part in enumerate(pattern.patterns):
                    self._read_data(source, pattern.constructor, index, part)
                    self._bind(part, part)

    def _read_data(
        self, source: SetVariable, constructor: Constructor, index: int, target: SetVariable
    ) -> None:
        def reader(value: Expr) -> None:
            if isinstance(value, Call) and _name(value.callee) == constructor.name:
                self._flow((value, index), target)

        self._listen(source, reader)

    def _call(self, call: Call, function: Function) -> None:
        for argument, param in zip(call.arguments, function.params, strict=True):
            self._flow(argument, param)
        self._flow(function.body, call)

    def _call_closures(self, call: Call) -> None:
        type_ = _type(call.callee)

        def reader(value: Expr) -> None:
            if isinstance(value, Function) and _type(value) == type_:
                self._call(call, value)

        self._listen(call.callee, reader)

    def _flow(self, source: SetVariable, target: SetVariable) -> None:
        """All values that `source` has or will have are values of `target`."""
        if _may_hold(source) and _may_hold(target) and source is not target:
            self._listen(source, lambda value: self._put(value, target))

    def _listen(self, source: SetVariable, reader: Callable[[Expr], None]) -> None:
        self._readers[source].append(reader)
        self._pending += [(value, reader) for value in self._values[source]]

    def _put(self, value: Expr, target: SetVariable) -> None:
        if value not in self._values[target]:
            self._values[target][value] = None
            self._pending += [(value, reader) for reader in self._readers[target]]


def calls_closure(call: Call) -> bool:
    """Whether what is called is a value, which may be one of several functions."""
    callee = call.callee
    is_known = isinstance(callee, Operator | Constructor | GlobalVar)
    return not (is_known or is_opaque_function(callee))


def _held(node: Expr) -> tuple[Expr, ...]:
    """The parts of a value, in order."""
    return node.arguments if isinstance(node, Call) else children(node)


def _may_hold(variable: SetVariable) -> bool:
    """Whether a set may have closures, so far as it has a type."""
    type_ = variable.type if isinstance(variable, Expr) else None
    if type_ is None and isinstance(variable, Var):
        type_ = variable.annotation
    return type_ is None or contains_function(type_)


def _name(callee: Expr) -> str | None:
    return callee.name if isinstance(callee, Constructor) else None


def _type(node: Expr) -> Type:
    """The type of a function, one for all that are data of one type afterwards."""
    assert node.type is not None
    return plain_type(node.type)


def plain_type(type_: Type) -> Type:
    """A type in which data types without parameters are not applied to nothing."""
    if isinstance(type_, TypeCall) and not type_.arguments:
        return type_.function
    return with_parts(type_, tuple(map(plain_type, parts(type_))))
