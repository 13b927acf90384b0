"""A module in which chosen tensors are collections of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TypeVar

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import map_pattern_vars, rewrite_with_original
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import TupleType, Type
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.op_rules.row_sums import addends, row_sum
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.constructors import Definitions
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    field_of,
    let_block,
    tuple_of,
    type_of,
    variable,
)
from relay_tune.transform.row_sums.flow import Flow, Form
from relay_tune.transform.row_sums.ropes import Rope
from relay_tune.transform.row_sums.slots import Cell, Slot, direct_cells, root_of
from relay_tune.typing.infer import infer_types

NodeT = TypeVar("NodeT", bound=Expr)


def with_collected_rows(flow: Flow, cells: Mapping[Cell, Form]) -> Module:
    """The typed module of a flow in which the tensors of these cells are collected rows."""
    module, names = flow.module, Names.of(flow.module)
    ropes = {form: Rope.of(form, names) for form in dict.fromkeys(cells.values())}
    rewriting = _Rewriting(flow, {cell: ropes[form] for cell, form in cells.items()})
    types = {name: rewriting.definition(data) for name, data in module.types.items()}
    types |= {rope.definition.header.name: rope.definition for rope in ropes.values()}
    definitions = Definitions(types)
    functions = {
        name: function
        if function.is_primitive
        else definitions.function(rewriting.function(name, function))
        for name, function in module.functions.items()
    }
    for rope in ropes.values():
        functions |= rope.functions()
    return infer_types(replace(module, functions=functions, types=types))


@dataclass
class _Rewriting:
    """Rewrites functions and data types; `ropes` has the chosen cells."""

    flow: Flow
    ropes: Mapping[Cell, Rope]
    _vars: dict[Var, Var] = field(default_factory=dict)
    _tensors: dict[tuple[object, ...], Expr] = field(default_factory=dict)
    """What became a tensor again, by the value it is and the fields of tuples that lead to it."""

    def definition(self, data: TypeData) -> TypeData:
        """A data type whose fields may be collections."""
        constructors = []
        for each in data.constructors:
            slots = self.flow.slots.fields(each)
            if slots is not None:
                pairs = zip(slots, each.inputs, strict=True)
                inputs = tuple(self._type(slot, type_) for slot, type_ in pairs)
                each = each if inputs == each.inputs else replace(each, inputs=inputs)
            constructors.append(each)
        return replace(data, constructors=tuple(constructors))

    def function(self, name: str, function: Function) -> Function:
        """A function whose values may be collections; users of an entry see tensors."""
        body = rewrite_with_original(
            function.body, self._visit, enter=lambda node: not is_opaque_function(node)
        )
        result, type_ = self.flow.results[name], function.result_type
        if name in self.flow.entries:
            body = self._result(self.flow.slot(function.body), body)
        return replace(
            function,
            params=tuple(map(self._var, function.params)),
            body=body,
            result_type=None if type_ is None else self._type(result, type_),
            type=None,
        )

    def _rope(self, slot: Slot) -> Rope | None:
        return self.ropes.get(root_of(slot)) if isinstance(slot, Cell) else None

    def _has_ropes(self, slot: Slot) -> bool:
        return any(cell in self.ropes for cell in direct_cells(slot))

    def _type(self, slot: Slot, type_: Type) -> Type:
        """The type of values of a slot."""
        rope = self._rope(slot)
        if rope is not None:
            return rope.type
        if isinstance(slot, tuple) and isinstance(type_, TupleType):
            parts = zip(slot, type_.fields, strict=True)
            return TupleType(tuple(self._type(part, each) for part, each in parts))
        return type_

    def _var(self, var: Var) -> Var:
        if var not in self._vars:
            slot, written = self.flow.slot(var), var.annotation
            annotation = None if written is None else self._type(slot, written)
            self._vars[var] = replace(self._typed(slot, var), annotation=annotation)
        return self._vars[var]

    def _typed(self, slot: Slot, node: NodeT) -> NodeT:
        """A node with the type that it has now."""
        if node.type is None or not self._has_ropes(slot):
            return node
        return replace(node, type=self._type(slot, node.type))

    def _visit(self, original: Expr, node: Expr) -> Expr:
        slot = self.flow.slot(original)
        rope = self._rope(slot)
        match node:
            case Var():
                return self._var(node)
            case GlobalVar():
                return replace(node, type=None)
            case Constant() if rope is not None:
                return rope.none()
            case Let():
                node = replace(node, var=self._var(node.var))
            case Match():
                node = replace(node, clauses=tuple(map(self._clause, node.clauses)))
            case Call(callee=Operator()) if isinstance(original, Call):
                return self._operation(original, node, rope)
        return self._typed(slot, node)

    def _clause(self, clause: Clause) -> Clause:
        return Clause(map_pattern_vars(clause.pattern, self._var), clause.body)

    def _operation(self, original: Call, node: Call, rope: Rope | None) -> Expr:
        if rope is not None and addends(original) is not None:
            left, right = node.arguments
            return rope.sum(left, right)
        slots = map(self.flow.slot, original.arguments)
        pairs = zip(slots, node.arguments, strict=True)
        arguments = tuple(self._tensor(slot, argument) for slot, argument in pairs)
        changed = any(a is not b for a, b in zip(arguments, node.arguments, strict=True))
        node = replace(node, arguments=arguments) if changed else node
        if rope is None:
            return node
        term = row_sum(node)
        return rope.none() if term is None else rope.term(term.rows)

    def _tensor(self, slot: Slot, node: Expr) -> Expr:
        """A value with tensors in place of collections."""
        if not self._has_ropes(slot):
            return node
        rope = self._rope(slot)
        if rope is None:
            assert isinstance(slot, tuple)
            fields = (self._tensor(part, field_of(node, i)) for i, part in enumerate(slot))
            return tuple_of(fields)
        key = _access_path(node)
        if key not in self._tensors:
            self._tensors[key] = rope.tensor(node)
        return self._tensors[key]

    def _result(self, slot: Slot, body: Expr) -> Expr:
        """The body of a function that users call."""
        if not self._has_ropes(slot):
            return body
        bindings: list[Binding] = []
        while isinstance(body, Let):
            bindings.append((body.var, body.value))
            body = body.body
        if not isinstance(body, Tuple | Var):
            bindings.append((variable("result", type_of(body)), body))
            body = bindings[-1][0]
        return let_block(bindings, self._tensor(slot, body))


def _access_path(node: Expr) -> tuple[object, ...]:
    """What tells a value from others: where it lies in which tuple."""
    indices: list[object] = []
    while isinstance(node, TupleGetItem):
        indices.append(node.index)
        node = node.tuple_value
    return (node, *reversed(indices))
