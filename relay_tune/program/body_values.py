"""Known values of one function, and the code that puts them into registers."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.expr import Call, Constant, Expr, Function, GlobalVar, Var
from relay_tune.ir.traversal import free_vars
from relay_tune.program.block_builder import BlockBuilder
from relay_tune.program.function_table import FunctionTable
from relay_tune.program.instructions import LoadConstant, MakeObject, Register
from relay_tune.program.kinds import Kind, function_kinds, kinds_of, type_of
from relay_tune.program.layouts import ObjectLayout
from relay_tune.program.size_checks import call_checks, own_checks, symbols_of
from relay_tune.program.values import (
    KnownFunction,
    Value,
    leaves,
    new_registers,
    registers_of,
    renamed,
)


class BodyValues:
    """The values of a function's nodes, beside the builder of its blocks.

    Attributes:
        builder: where the code goes.
        found: the values that are known; at first those of `bindings`.
    """

    def __init__(self, table: FunctionTable, name: str, bindings: Mapping[Expr, Value]) -> None:
        self.builder = BlockBuilder()
        self.found: dict[Expr, Value] = {**bindings}
        self._table = table
        self._name = name
        self._symbols = symbols_of(r for value in bindings.values() for r in registers_of(value))

    def annotated(self, var: Var, value: Value) -> Value:
        """The value of a variable; its sizes are compared with those of the variable's type."""
        registers = tuple(registers_of(value))
        if all(isinstance(leaf, Register) for leaf in leaves(value)):
            self.require_sizes(var, registers, kinds_of(type_of(var)))
        return value

    def local_function(self, function: Function, own_name: Var | None) -> KnownFunction:
        """A function literal: what it captures becomes leading parameters."""
        hint = "fn" if own_name is None else own_name.name
        name = self._table.unused_name(f"{self._name}/{hint}")
        free = [var for var in free_vars(function) if var is not own_name]
        outer = dict.fromkeys(r for var in free for r in registers_of(self._variable(var)))
        inner = {register: Register(register.kind) for register in outer}
        bindings: dict[Expr, Value] = {}
        for var in free:
            bindings[var] = renamed(self._variable(var), inner.__getitem__)
        if own_name is not None:
            bindings[own_name] = KnownFunction(name, tuple(inner.values()))
        self._table.declare(name, function, tuple(inner.values()), bindings)
        return KnownFunction(name, tuple(outer))

    def _variable(self, var: Var) -> Value:
        if var not in self.found:
            raise NoNativeCodeError(f"Variable %{var.name} has no value here.", where=var.span)
        return self.found[var]

    def registers(self, *values: Value) -> tuple[Register, ...]:
        """The components of values, in registers."""
        return tuple(self._register(leaf) for value in values for leaf in leaves(value))

    def _register(self, leaf: Register | Constant | KnownFunction) -> Register:
        match leaf:
            case Register():
                return leaf
            case Constant():
                (result,) = new_registers(type_of(leaf))
                self.builder.emit(LoadConstant(result, leaf.data))
            case KnownFunction():
                result = Register(self._table.closure_kind(leaf))
                layout = self._table.closure_layout(leaf)
                self.builder.emit(MakeObject(result, layout, leaf.captured))
        return result

    def in_registers(self, value: Value) -> Value:
        """A value whose functions and constants are objects and numbers."""
        match value:
            case tuple():
                return tuple(self.in_registers(part) for part in value)
            case _:
                return self.registers(value)[0]

    def require_sizes(
        self, node: Expr, given: tuple[Register, ...], wanted: tuple[Kind, ...]
    ) -> None:
        """Compare sizes, where values are wanted with sizes that their types do not tell."""
        for check in own_checks(given, wanted, self._symbols, node.span):
            self.builder.emit(check)

    def passed(
        self, node: Call, callee: Value, arguments: tuple[Value, ...]
    ) -> tuple[Register, ...]:
        """The arguments of a call, whose sizes are compared with those of the parameters."""
        registers = self.registers(*arguments)
        if isinstance(callee, KnownFunction):
            wanted = self._table.parameter_kinds(callee)
        else:
            wanted = function_kinds(type_of(node.callee))
        outer = {} if isinstance(node.callee, GlobalVar) else self._symbols
        for check in call_checks(registers, wanted, outer, node.span):
            self.builder.emit(check)
        return registers

    def fields(self, node: Expr, layout: ObjectLayout, *values: Value) -> tuple[Register, ...]:
        """Operands to store in an object, whose sizes are compared with those of its fields."""
        registers = self.registers(*values)
        self.require_sizes(node, registers, layout.fields)
        return registers
