"""Cells with floats become pairs: of a cell for the value, and one for its adjoint or tangent.

before:
    %r = ref(%x);
    ref_write(%r, %y)

after:
    %r = (ref(%x), ref(0f));
    let %_ = ref_write(%r.1, 0f);  once the value is found
    ref_write(%r.0, %y)

The second cell is zero after each write. What it may hold from before, when a cell was only read
whose value was given to it elsewhere, is therefore never taken for an adjoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.ir.expr import (
    Call,
    Clause,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
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
from relay_tune.ir.traversal import bound_vars, post_order, rewrite_with_original
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import RefType, TupleType, Type
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.adjoint_values import AdjointValues
from relay_tune.transform.gradient.typed_nodes import type_of, variable
from relay_tune.typing.type_terms import parts, with_parts


def holds_floats(node: Expr, types: AdjointTypes) -> bool:
    """Whether this very node creates, reads or writes a cell whose value can have an adjoint."""
    match node:
        case RefCreate():
            return types.has_adjoint(type_of(node.value))
        case RefRead() | RefWrite():
            cell = type_of(node.ref)
            return isinstance(cell, RefType) and types.has_adjoint(cell.value)
        case _:
            return False


def with_pairs(module: Module, values: AdjointValues) -> Module:
    """The module with pairs for cells; most nodes keep their types, so they are to be inferred."""
    pairs = _Pairs(values)
    types = {name: pairs.data(definition) for name, definition in module.types.items()}
    constructors = {
        (name, part.name): part for name, data in types.items() for part in data.constructors
    }
    functions = {
        name: pairs.function(function, constructors) for name, function in module.functions.items()
    }
    return replace(module, functions=functions, types=types)


def is_pair(types: AdjointTypes, type_: Type) -> bool:
    """Whether a type is that of a pair of cells, with a value and its adjoint."""
    match type_:
        case TupleType(fields=(RefType(value=value), RefType())):
            return types.has_adjoint(value)
        case _:
            return False


class _Pairs:
    def __init__(self, values: AdjointValues) -> None:
        self._values = values

    def type(self, type_: Type) -> Type:
        """A type with pairs for cells."""
        if isinstance(type_, RefType):
            adjoint = self._values.types.adjoint(type_.value)
            held = RefType(self.type(type_.value))
            return held if adjoint is None else TupleType((held, RefType(adjoint)))
        return with_parts(type_, tuple(map(self.type, parts(type_))))

    def data(self, definition: TypeData) -> TypeData:
        """A data type whose fields may be pairs."""
        return definition.with_fields(self.type)

    def function(
        self, function: Function, constructors: Mapping[tuple[str, str], Constructor]
    ) -> Function:
        """A function with pairs."""
        if function.is_primitive:
            return function
        nodes = post_order(function, enter=lambda node: not is_opaque_function(node))
        known: dict[Expr, Expr] = {}
        for node in nodes:
            for var in bound_vars(node):
                if var.annotation is not None and self.type(var.annotation) != var.annotation:
                    known[var] = replace(var, annotation=self.type(var.annotation), type=None)
        changed = _Nodes(self, self._values, known, constructors)
        result = rewrite_with_original(
            function, changed.visit, enter=lambda node: not is_opaque_function(node)
        )
        assert isinstance(result, Function)
        return result


class _Nodes:
    """Rewrites the nodes of one function; `known` are variables with other annotations."""

    def __init__(
        self,
        pairs: _Pairs,
        values: AdjointValues,
        known: Mapping[Expr, Expr],
        constructors: Mapping[tuple[str, str], Constructor],
    ) -> None:
        self._pairs = pairs
        self._values = values
        self._known = known
        self._constructors = constructors

    def visit(self, original: Expr, node: Expr) -> Expr:
        """A node whose children are rewritten."""
        match node:
            case Var():
                return self._known.get(node, node)
            case Constructor():
                return self._constructor(node)
            case Function() if not node.is_primitive:
                return self._function(node)
            case Let():
                return replace(node, var=self._var(node.var))
            case Match():
                clauses = tuple(Clause(self._pattern(c.pattern), c.body) for c in node.clauses)
                return replace(node, clauses=clauses)
            case Call() if node.type_arguments:
                types = tuple(map(self._pairs.type, node.type_arguments))
                return replace(node, type_arguments=types)
            case _ if holds_floats(original, self._values.types):
                return self._cell(original, node)
            case _:
                return node

    def _cell(self, original: Expr, node: Expr) -> Expr:
        match node:
            case RefCreate():
                return Tuple((node, RefCreate(self._zero(original, node.value))))
            case RefRead():
                return replace(node, ref=TupleGetItem(node.ref, 0))
            case RefWrite():
                assert isinstance(original, RefWrite)
                return self._write(original, node)
            case _:
                raise AssertionError(node)

    def _write(self, original: RefWrite, node: RefWrite) -> Expr:
        """The value comes first: it may have been read from the cell."""
        value, pair = variable("value", type_of(original.value)), Var("cell")
        clear = RefWrite(TupleGetItem(pair, 1), self._zero(original, value))
        write = RefWrite(TupleGetItem(pair, 0), value, span=node.span)
        return Let(pair, node.ref, Let(value, node.value, Let(Var("_"), clear, write)))

    def _zero(self, original: Expr, value: Expr) -> Expr:
        assert isinstance(original, RefCreate | RefWrite)
        type_ = type_of(original.value)
        like = value if value.type is not None else replace(value, type=type_)
        return self._values.zero(self._values.types.field_adjoint(type_), like)

    def _function(self, node: Function) -> Function:
        result = node.result_type
        return replace(
            node,
            params=tuple(map(self._var, node.params)),
            result_type=None if result is None else self._pairs.type(result),
        )

    def _var(self, var: Var) -> Var:
        found = self._known.get(var, var)
        assert isinstance(found, Var)
        return found

    def _constructor(self, constructor: Constructor) -> Constructor:
        return self._constructors.get((constructor.belongs_to.name, constructor.name), constructor)

    def _pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case VarPattern():
                return VarPattern(self._var(pattern.var))
            case ConstructorPattern():
                constructor = self._constructor(pattern.constructor)
                return ConstructorPattern(constructor, tuple(map(self._pattern, pattern.patterns)))
            case TuplePattern():
                return TuplePattern(tuple(map(self._pattern, pattern.patterns)))
            case _:
                return pattern
