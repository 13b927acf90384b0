"""The body of one function as basic blocks."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from relay_tune.errors import NoNativeCodeError
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
    type_name,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.trampoline import Recursive
from relay_tune.ir.types import FuncType, RefType, unflatten
from relay_tune.program.body_values import BodyValues
from relay_tune.program.function_table import FunctionTable
from relay_tune.program.instructions import (
    CallClosure,
    CallFunction,
    MakeObject,
    ReadField,
    WriteField,
)
from relay_tune.program.kinds import function_type, kinds_of, type_of
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.lower_patterns import bind_pattern
from relay_tune.program.primitive_calls import lower_primitive_call
from relay_tune.program.scopes import hoisted_nodes
from relay_tune.program.size_checks import is_as_wanted
from relay_tune.program.terminators import Branch, Fail, Jump, Return, TailCall, TailCallClosure
from relay_tune.program.values import KnownFunction, Value, new_registers


class BodyLowering:
    """Writes the blocks of one function.

    The values found are also those computed in a branch; the nodes that several branches use were
    computed before they part, so no branch finds a value of another one.
    """

    def __init__(
        self,
        table: FunctionTable,
        name: str,
        function: Function,
        bindings: Mapping[Expr, Value],
    ) -> None:
        self._table = table
        self._hoisted = hoisted_nodes(function.body)
        self._results = kinds_of(function_type(function).result)
        self._known = BodyValues(table, name, bindings)
        self._values = self._known.found
        self.builder = self._known.builder

    def returned(self, node: Expr) -> Recursive[Value]:
        """Write the code that returns the value of a node; calls become tail calls."""
        while node not in self._values and isinstance(node, Let):
            yield self._bind(node)
            node = node.body
        if node not in self._values:
            match node:
                case If():
                    return (yield self._returned_if(node))
                case Match():
                    return (yield self._match(node, None))
                case Call() if not _is_primitive(node.callee) and self._returns_as_wanted(node):
                    return (yield self._tail_call(node))
        value = yield self._value(node)
        self._return(node, value)
        return ()

    def _return(self, node: Expr, value: Value) -> None:
        registers = self._known.registers(value)
        self._known.require_sizes(node, registers, self._results)
        self.builder.end(Return(registers))

    def _returns_as_wanted(self, node: Expr) -> bool:
        """Whether the value of a node needs no comparison of sizes to be returned."""
        return all(map(is_as_wanted, kinds_of(type_of(node)), self._results))

    def _value(self, node: Expr) -> Recursive[Value]:
        """The value of a node; its code is written now unless it was before."""
        inner = node
        while inner not in self._values and isinstance(inner, Let):
            yield self._bind(inner)
            inner = inner.body
        if inner not in self._values:
            self._values[inner] = yield self._new_value(inner)
        self._values[node] = self._values[inner]
        return self._values[node]

    def _new_value(self, node: Expr) -> Recursive[Value]:
        match node:
            case Constant():
                return node
            case GlobalVar():
                return self._table.known_global(node.name)
            case Tuple():
                fields: list[Value] = []
                for field in node.fields:
                    fields.append((yield self._value(field)))
                return tuple(fields)
            case TupleGetItem():
                whole = yield self._value(node.tuple_value)
                assert isinstance(whole, tuple)  # the program is typed
                return whole[node.index]
            case Function():
                return self._known.local_function(node, None)
            case Constructor():
                return self._known.local_function(_as_function(node), None)
            case Call():
                return (yield self._call(node))
            case If():
                return (yield self._joined_if(node))
            case Match():
                return (yield self._joined_match(node))
            case RefCreate() | RefRead() | RefWrite():
                return (yield self._cell(node))
            case _:
                raise _no_native_form(node)

    def _bind(self, node: Let) -> Recursive[Value]:
        if isinstance(node.value, Function) and node.value not in self._values:
            self._values[node.value] = self._known.local_function(node.value, node.var)
        value = yield self._value(node.value)
        self._values[node.var] = self._known.annotated(node.var, value)
        return ()

    def _call(self, node: Call) -> Recursive[Value]:
        if isinstance(node.callee, Function) and node.callee.is_primitive:
            arguments = yield from self._argument_values(node)
            return lower_primitive_call(
                self.builder, node.callee, self._known.registers(*arguments)
            )
        if isinstance(node.callee, Constructor):
            arguments = yield from self._argument_values(node)
            layout = self._table.layouts.constructor(type_of(node), node.callee)
            (result,) = new_registers(type_of(node))
            self.builder.emit(
                MakeObject(result, layout, self._known.fields(node, layout, *arguments))
            )
            return result
        callee = yield self._value(node.callee)
        arguments = yield from self._argument_values(node)
        registers = self._known.passed(node, callee, arguments)
        outputs = new_registers(type_of(node))
        if isinstance(callee, KnownFunction):
            operands = (*callee.captured, *registers)
            self.builder.emit(CallFunction(callee.name, operands, outputs))
        else:
            (closure,) = self._known.registers(callee)
            self.builder.emit(CallClosure(closure, registers, outputs))
        return unflatten(type_of(node), iter(outputs))

    def _tail_call(self, node: Call) -> Recursive[Value]:
        if isinstance(node.callee, Constructor):
            value = yield self._value(node)
            self._return(node, value)
            return ()
        callee = yield self._value(node.callee)
        arguments = yield from self._argument_values(node)
        registers = self._known.passed(node, callee, arguments)
        if isinstance(callee, KnownFunction):
            self.builder.end(TailCall(callee.name, (*callee.captured, *registers)))
        else:
            (closure,) = self._known.registers(callee)
            self.builder.end(TailCallClosure(closure, registers))
        return ()

    def _argument_values(self, node: Call) -> Generator[Recursive[Value], Value, tuple[Value, ...]]:
        values: list[Value] = []
        for argument in node.arguments:
            values.append((yield self._value(argument)))
        return tuple(values)

    def _cell(self, node: RefCreate | RefRead | RefWrite) -> Recursive[Value]:
        if isinstance(node, RefCreate):
            value = yield self._value(node.value)
            (cell,) = new_registers(type_of(node))
            layout = self._cell_layout(node)
            self.builder.emit(MakeObject(cell, layout, self._known.fields(node, layout, value)))
            return cell
        (cell,) = self._known.registers((yield self._value(node.ref)))
        layout = self._cell_layout(node.ref)
        if isinstance(node, RefRead):
            fields = new_registers(type_of(node))
            for index, field in enumerate(fields):
                self.builder.emit(ReadField(field, cell, layout, index))
            return unflatten(type_of(node), iter(fields))
        written = self._known.fields(node, layout, (yield self._value(node.value)))
        for index, register in enumerate(written):
            self.builder.emit(WriteField(cell, layout, index, register))
        return ()

    def _cell_layout(self, node: Expr) -> ObjectLayout:
        type_ = type_of(node)
        assert isinstance(type_, RefType)  # the program is typed
        return self._table.layouts.cell(type_)

    def _hoist(self, node: Expr) -> Recursive[Value]:
        """Compute what several branches of a node use."""
        for shared in self._hoisted.get(node, ()):
            yield self._value(shared)
        return ()

    def _branch(self, node: If) -> Generator[Recursive[Value], Value, tuple[int, int]]:
        """Decide a condition; the labels of the branches."""
        (condition,) = self._known.registers((yield self._value(node.condition)))
        yield self._hoist(node)
        labels = self.builder.new_label(), self.builder.new_label()
        self.builder.end(Branch(condition, *labels))
        return labels

    def _returned_if(self, node: If) -> Recursive[Value]:
        labels = yield from self._branch(node)
        for label, branch in zip(labels, (node.true_branch, node.false_branch), strict=True):
            self.builder.start(label)
            yield self.returned(branch)
        return ()

    def _joined_if(self, node: If) -> Recursive[Value]:
        results = new_registers(type_of(node))
        join = self.builder.new_label(results)
        labels = yield from self._branch(node)
        for label, branch in zip(labels, (node.true_branch, node.false_branch), strict=True):
            self.builder.start(label)
            yield self._jumped(branch, join)
        self.builder.start(join)
        return unflatten(type_of(node), iter(results))

    def _joined_match(self, node: Match) -> Recursive[Value]:
        results = new_registers(type_of(node))
        join = self.builder.new_label(results)
        yield self._match(node, join)
        self.builder.start(join)
        return unflatten(type_of(node), iter(results))

    def _jumped(self, node: Expr, join: int) -> Recursive[Value]:
        """Write the code that goes on at `join` with the value of a node."""
        value = yield self._value(node)
        registers = self._known.registers(value)
        wanted = tuple(result.kind for result in self.builder.parameters_of(join))
        self._known.require_sizes(node, registers, wanted)
        self.builder.end(Jump(join, registers))
        return ()

    def _match(self, node: Match, join: int | None) -> Recursive[Value]:
        """Write the clauses; each goes on at `join`, or returns if there is none.

        The last clause of a complete match fits whatever comes to it.
        """
        value = yield self._value(node.value)
        yield self._hoist(node)
        for number, clause in enumerate(node.clauses, start=1):
            certain = node.complete and number == len(node.clauses)
            following = None if certain else self.builder.new_label()
            found = bind_pattern(
                self.builder,
                self._table.layouts,
                clause.pattern,
                self._known.in_registers(value),
                type_of(node.value),
                following,
            )
            for var, bound in found.bindings.items():
                assert isinstance(var, Var)  # patterns bind nothing else
                self._values[var] = self._known.annotated(var, bound)
            yield self.returned(clause.body) if join is None else self._jumped(clause.body, join)
            if following is None or not found.may_fail:
                return ()
            self.builder.start(following)
        self.builder.end(Fail(_no_clause_fits(node)))
        return ()


def _as_function(constructor: Constructor) -> Function:
    """The function that calls a constructor which is used as a value."""
    type_ = type_of(constructor)
    assert isinstance(type_, FuncType)  # the program is typed
    params = tuple(Var(f"p{n}", param, type=param) for n, param in enumerate(type_.params))
    body = Call(constructor, params, type=type_.result)
    return Function(params, body, type_.result, type=type_)


def _no_native_form(node: Expr) -> NoNativeCodeError:
    is_operator = isinstance(node, Operator)
    what = f"the operator {node!r} as a value" if is_operator else type_name(node)
    return NoNativeCodeError(
        f"The program contains {what}, for which there is no native code yet.",
        where=node.span,
        remedy="The interpreter runs it: relay_tune.interpret(module, ...).",
    )


def _no_clause_fits(node: Match) -> str:
    where = f" at {node.span}" if node.span is not None else ""
    return f"No clause of the match{where} fits the value."


def _is_primitive(node: Expr) -> bool:
    return isinstance(node, Function) and node.is_primitive
