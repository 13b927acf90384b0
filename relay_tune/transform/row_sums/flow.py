"""Where tensors flow in a module, which of them are sums over rows, and who reads elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TypeAlias

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    Tuple,
    TupleGetItem,
    TuplePattern,
    Var,
    VarPattern,
)
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, free_vars, pattern_vars, post_order
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import is_opaque_function, tensor_type
from relay_tune.op_rules.row_sums import RowTotal, addends, is_zero, row_sum
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.row_sums.linear_uses import repeated_values
from relay_tune.transform.row_sums.slots import Cell, Slot, Slots, direct_cells, has_data
from relay_tune.typing.call_graph import used_globals

Form: TypeAlias = tuple[RowTotal, tuple[TensorType, ...], TensorType]
"""What a tensor is a sum of: the total, the types of the rows of one term, its own type."""


@dataclass(frozen=True)
class Addition:
    """A tensor that is the sum of two: their cells, and the function in which that is."""

    result: Cell
    left: Cell
    right: Cell
    function: str


@dataclass
class Flow:
    """What is known of a module's tensors.

    Attributes:
        module: the module, typed.
        slots: the slots of its data types.
        of: the slot of each expression.
        results: the slots of the functions' results.
        terms: tensors that are sums over rows themselves.
        additions: tensors that are sums of others.
        exits: tensors whose elements are read, and the function in which that is.
        entries: the functions that users call.
    """

    module: Module
    slots: Slots
    of: dict[Expr, Slot] = field(default_factory=dict)
    results: dict[str, Slot] = field(default_factory=dict)
    terms: list[tuple[Cell, Form]] = field(default_factory=list)
    additions: list[Addition] = field(default_factory=list)
    exits: list[tuple[Cell, str]] = field(default_factory=list)
    entries: set[str] = field(default_factory=set)
    _function: str = ""

    def slot(self, node: Expr) -> Slot:
        """The slot of an expression; that of a variable is made when it is first asked for."""
        if node not in self.of:
            self.of[node] = self.slots.of_type(known_type(node))
        return self.of[node]


def flow_of(module: Module) -> Flow:
    """The flow of a typed module."""
    flow = _Walk(module, Slots(module.types), entries=entries(module))
    for name, function in module.functions.items():
        flow.results[name] = flow.slots.of_type(function.body.type)
    for name, function in module.functions.items():
        flow.function(name, function)
    return flow


def entries(module: Module) -> set[str]:
    """The functions that users call: `main`, and those that no other function calls."""
    used = {
        callee
        for name, function in module.functions.items()
        for callee in used_globals(function)
        if callee != name
    }
    return {"main", *(name for name in module.functions if name not in used)}


class _Walk(Flow):
    """Follows the values of a module through its expressions."""

    def function(self, name: str, function: Function) -> None:
        """Follow the values of a function of the module."""
        self._function = name
        if function.is_primitive:
            return
        for node in post_order(function.body, enter=lambda node: not is_opaque_function(node)):
            self.of[node] = self._visit(node)
            self._fix_functions(node)
        if name in self.entries or function.type_params:
            for param in function.params:
                self.slots.fix(self.slot(param))
            self.slots.fix(self.results[name])
            self._read(self.of[function.body])
        else:
            self.slots.unify(self.results[name], self.of[function.body])
        for node in repeated_values(function.body):
            self.slots.fix(self.slot(node))

    def _visit(self, node: Expr) -> Slot:
        match node:
            case Var():
                return self.slot(node)
            case Tuple():
                return tuple(map(self.slot, node.fields))
            case TupleGetItem():
                whole = self.slot(node.tuple_value)
                return whole[node.index] if isinstance(whole, tuple) else self._unknown(node)
            case Let():
                self.slots.unify(self.slot(node.var), self.slot(node.value))
                return self.slot(node.body)
            case If():
                return self._joined((node.true_branch, node.false_branch))
            case Match(clauses=()):  # nothing comes out of it
                return self._unknown(node)
            case Match():
                for clause in node.clauses:
                    self._bind(clause, self.slot(node.value))
                return self._joined([clause.body for clause in node.clauses])
            case Call():
                return self._call(node)
            case Function():
                self._closure(node)
                return None
            case GlobalVar() | Constructor() | Operator():
                return None
            case _:
                for child in children(node):
                    self.slots.fix(self.slot(child))
                return self._value(node)

    def _value(self, node: Expr) -> Slot:
        """The slot of a constant or of what a cell holds."""
        return self.slots.of_type(node.type) if is_zero(node) else self._unknown(node)

    def _unknown(self, node: Expr) -> Slot:
        """The slot of a value that may be anything."""
        slot = self.slots.of_type(node.type)
        self.slots.fix(slot)
        return slot

    def _joined(self, nodes: Iterable[Expr]) -> Slot:
        first, *others = map(self.slot, nodes)
        for other in others:
            self.slots.unify(first, other)
        return first

    def _read(self, slot: Slot) -> None:
        """Elements of a value are read here; in data types they have to be there."""
        if has_data(slot):
            self.slots.fix(slot)
        self.exits += [(cell, self._function) for cell in direct_cells(slot)]

    def _bind(self, clause: Clause, slot: Slot) -> None:
        pending: list[tuple[Pattern, Slot]] = [(clause.pattern, slot)]
        while pending:
            pattern, given = pending.pop()
            match pattern:
                case VarPattern():
                    self.slots.unify(self.slot(pattern.var), given)
                case TuplePattern() if isinstance(given, tuple):
                    pending += zip(pattern.patterns, given, strict=True)
                case ConstructorPattern() if self.slots.fields(pattern.constructor) is not None:
                    fields = self.slots.fields(pattern.constructor) or ()
                    pending += zip(pattern.patterns, fields, strict=True)
                case _:
                    for var in pattern_vars(pattern):
                        self.slots.fix(self.slot(var))

    def _closure(self, function: Function) -> None:
        """What a function value takes, captures and returns are tensors."""
        if function.is_primitive:
            return
        for node in (*function.params, *free_vars(function), function.body):
            self.slots.fix(self.slot(node))

    def _call(self, call: Call) -> Slot:
        match call.callee:
            case Operator():
                return self._operation(call)
            case Constructor() as constructor:
                taken = self.slots.fields(constructor)
                if taken is None:
                    self._fix_arguments(call)
                    return None
                result: Slot = constructor.belongs_to.name
            case GlobalVar(name=name) if not self.module[name].is_primitive:
                function = self.module[name]
                if function.type_params:
                    self._fix_arguments(call)
                    return self._unknown(call)
                taken = tuple(map(self.slot, function.params))
                result = self.results[name]
            case _:
                self._fix_arguments(call)
                return self._unknown(call)
        for argument, slot in zip(call.arguments, taken, strict=True):
            self.slots.unify(self.slot(argument), slot)
        return result

    def _fix_arguments(self, call: Call) -> None:
        for argument in call.arguments:
            self.slots.fix(self.slot(argument))

    def _operation(self, call: Call) -> Slot:
        result = self.slots.of_type(call.type)
        added, summed = addends(call), row_sum(call)
        cell = result if isinstance(result, Cell) else None
        if added is not None and cell is not None:
            left, right = map(self.slot, added)
            assert isinstance(left, Cell) and isinstance(right, Cell)  # tensors of its type
            self.additions.append(Addition(cell, left, right, self._function))
            return result
        if summed is not None and cell is not None:
            types = tuple(type_ for each in summed.rows if (type_ := tensor_type(each)))
            self.terms.append((cell, (summed.total, types, cell.type)))
        elif not is_zero(call):
            self.slots.fix(result)
        for argument in call.arguments:
            self._read(self.slot(argument))
        return result

    def _fix_functions(self, node: Expr) -> None:
        """Functions and constructors that are values take and return tensors."""
        others = children(node)[1:] if isinstance(node, Call) else children(node)
        for each in others:
            match each:
                case GlobalVar(name=name):
                    for param in self.module[name].params:
                        self.slots.fix(self.slot(param))
                    self.slots.fix(self.results[name])
                case Constructor():
                    for slot in self.slots.fields(each) or ():
                        self.slots.fix(slot)
