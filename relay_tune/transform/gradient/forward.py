"""Forward mode: every value that changes goes with its tangent, the derivative of its change.

A function that is called takes the tangents of the parameters that change, and returns the tangent
of its result beside it; a cell is a pair, whose second one has the tangent of the value of the
first. A tangent that is zero is None here and has no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TuplePattern,
    Var,
    VarPattern,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.provenance import made_for
from relay_tune.ir.trampoline import Recursive
from relay_tune.ir.types import UNIT, TupleType, Type
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.op_rules.gradient.table import tangents_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.activity import Activity
from relay_tune.transform.gradient.adjoint_types import AdjointTypes
from relay_tune.transform.gradient.adjoint_values import (
    AdjointValues,
    UserValues,
    fields_of_adjoint,
)
from relay_tune.transform.gradient.cells import is_pair
from relay_tune.transform.gradient.checkpoints import Checkpoint
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.patterns import matched_value, with_names
from relay_tune.transform.gradient.ruled import RuledFunction
from relay_tune.transform.gradient.ruled_calls import carry_through
from relay_tune.transform.gradient.typed_nodes import (
    Binding,
    cell_read,
    cell_written,
    constructed,
    field_of,
    fields_pattern,
    function_call,
    is_named,
    let_block,
    matched,
    named_as,
    packed,
    parameter,
    tuple_of,
    type_of,
    unpacked,
    variable,
)
from relay_tune.transform.language.let_blocks import is_atom

Going = Recursive[Any]
"""Work on a block that may wait for that on inner blocks and other functions."""


@dataclass
class Carried:
    """A block with tangents: its bindings, its result, and the result's tangent."""

    bindings: list[Binding]
    result: Expr
    tangent: Adjoint


@dataclass
class Forward:
    """Carries tangents through the blocks of a module, and the functions that they call.

    Attributes:
        source: the functions of the module, in A-normal form.
        user: adjoints as values of the types that they belong to.
        ruled: the functions with rules of their own.
        checkpoints: those that are computed again, which is nothing here.
        functions: those that are added.
        tangents: of variables, as far as they are not zero.
    """

    source: Mapping[str, Function]
    types: AdjointTypes
    user: UserValues
    activity: Activity
    names: Names
    ruled: Mapping[str, RuledFunction] = field(default_factory=dict)
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    tangents: dict[Expr, Adjoint] = field(default_factory=dict)
    _definitions: dict[Expr, Expr] = field(default_factory=dict)
    _made: dict[str, str] = field(default_factory=dict)

    @property
    def values(self) -> AdjointValues:
        """Tangents as expressions."""
        return self.user.adjoints

    def block(self, body: Expr) -> Going:
        """A block with tangents; those of variables from around it are known."""
        bindings: list[Binding] = []
        while isinstance(body, Let):
            yield self._binding(body.var, body.value, bindings)
            body = body.body
        if not is_atom(body):
            result = variable("result", type_of(body))
            yield self._binding(result, body, bindings)
            body = result
        return Carried(bindings, body, self.tangents.get(body))

    def function(self, name: str) -> Going:
        """The name of the function that takes and returns tangents as well."""
        if name in self._made:
            return self._made[name]
        made = self._made[name] = self.names.new(f"{name}_pushforward")
        function = self.source[name]
        extra: list[Var] = []
        for index in self.activity.active_params(name):
            param = function.params[index]
            tangent = parameter(f"d_{param.name}", self.types.field_adjoint(type_of(param)))
            extra.append(tangent)
            self.tangents[param] = self._expanded(tangent)
        carried: Carried = yield self.block(function.body)
        result = tuple_of((carried.result, self._value(carried.tangent, carried.result)))
        params = (*function.params, *extra)
        annotated = tuple(parameter(each.name, type_of(each)) for each in params)
        renamed: list[Binding] = list(zip(params, annotated, strict=True))
        body = let_block([*renamed, *carried.bindings], result)
        self.functions[made] = Function(annotated, body, span=function.span)
        return made

    def _binding(self, var: Var, value: Expr, out: list[Binding]) -> Going:
        self._definitions[var] = value
        with made_for(value.span):
            match value:
                case If() | Match():
                    yield self._branches(var, value, out)
                case Call(callee=GlobalVar(name=name)) if name in self.ruled:
                    given = [self.tangents.get(argument) for argument in value.arguments]
                    tangent = carry_through(self.ruled[name], self.user, var, value, given, out)
                    self._set(var, tangent, out)
                case Call(callee=GlobalVar(name=name)) if name in self.checkpoints:
                    kept = self.checkpoints[name]
                    yield self._call(var, kept.itself(value), kept.name, out)
                case Call(callee=GlobalVar(name=name)):
                    yield self._call(var, value, name, out)
                case _:
                    out.append((var, value))
                    self._set(var, self._simple(var, value, out), out)
        return None

    def _set(self, var: Var, tangent: Adjoint, out: list[Binding]) -> None:
        if tangent is not None and self.types.has_adjoint(type_of(var)):
            type_ = self.types.field_adjoint(type_of(var))
            self.tangents[var] = self._named(f"d_{var.name}", tangent, type_, out)

    def _named(self, name: str, tangent: Adjoint, type_: Type, out: list[Binding]) -> Adjoint:
        """A tangent of type `type_` whose parts are variables."""
        if tangent is None or type_ == UNIT:
            return None
        if isinstance(tangent, tuple) and isinstance(type_, TupleType):
            pairs = zip(tangent, type_.fields, strict=True)
            return tuple(self._named(name, part, wanted, out) for part, wanted in pairs)
        assert isinstance(tangent, Expr)
        if not is_named(tangent) or type_of(tangent) != type_:
            out.append((named_as(name, tangent, type_), tangent))
            tangent = out[-1][0]
        return self._expanded(tangent)

    def _expanded(self, tangent: Expr) -> Adjoint:
        """The fields of the tangent of a tuple."""
        if type_of(tangent) == UNIT:
            return None
        if not isinstance(type_of(tangent), TupleType):
            return tangent
        parts = (part for part in fields_of_adjoint(tangent))
        return tuple(self._expanded(part) for part in parts if isinstance(part, Expr))

    def _value(self, tangent: Adjoint, like: Expr) -> Expr:
        return self.values.value(tangent, like)

    def _simple(self, var: Var, value: Expr, out: list[Binding]) -> Adjoint:
        """The tangent of what has no blocks inside and calls no function of the program."""
        known = self.tangents
        match value:
            case Var():
                return known.get(value)
            case Tuple() if is_pair(self.types, type_of(value)):
                self._new_cell(var, value, out)
                return None
            case Tuple():
                fields = tuple(known.get(part) for part in value.fields)
                return None if all(part is None for part in fields) else fields
            case TupleGetItem():
                whole = known.get(value.tuple_value)
                return None if whole is None else fields_of_adjoint(whole)[value.index]
            case RefRead():
                cell = self._second_cell(value.ref)
                return None if cell is None else cell_read(cell)
            case RefWrite():
                cell = self._second_cell(value.ref)
                if cell is not None:
                    tangent = self._value(known.get(value.value), value.value)
                    out.append((variable("_", UNIT), cell_written(cell, tangent)))
                return None
            case Call(callee=Constructor() as constructor):
                return self._constructor(value, constructor)
            case Call(callee=Operator()):
                changes = [known.get(argument) for argument in value.arguments]
                if all(change is None for change in changes):
                    return None
                return tangents_of(value, var, changes)
            case _:
                return None

    def _constructor(self, call: Call, constructor: Constructor) -> Adjoint:
        tangents = [self.tangents.get(argument) for argument in call.arguments]
        if all(tangent is None for tangent in tangents):
            return None
        type_ = type_of(call)
        data, result = self.types.data(type_), self.types.field_adjoint(type_)
        fields = self.types.constructor_fields_of(data, constructor.name, result)
        made = [
            self.values.value(tangents[index], call.arguments[index], wanted)
            for index, wanted in fields.items()
        ]
        return constructed(data.constructors[constructor.name], made, result)

    def _second_cell(self, cell: Expr) -> Expr | None:
        """The cell with the tangent, where `cell` is the first one of a pair."""
        match self._definitions.get(cell):
            case TupleGetItem(tuple_value=pair, index=0) if is_pair(self.types, type_of(pair)):
                return field_of(pair, 1)
            case _:
                return None

    def _new_cell(self, pair: Var, value: Tuple, out: list[Binding]) -> None:
        first = self._definitions.get(value.fields[0])
        if isinstance(first, RefCreate) and first.value in self.tangents:
            tangent = self._value(self.tangents[first.value], first.value)
            write = cell_written(field_of(pair, 1), tangent)
            out.append((variable("_", UNIT), write))

    def _call(self, var: Var, call: Call, name: str, out: list[Binding]) -> Going:
        active = self.activity.active_params(name)
        changes = any(call.arguments[index] in self.tangents for index in active)
        if not changes and name not in self.activity.with_cells:
            out.append((var, call))
            return None
        made: str = yield self.function(name)
        given = [call.arguments[index] for index in active]
        tangents = [self._value(self.tangents.get(argument), argument) for argument in given]
        result = type_of(var)
        type_ = TupleType((result, self.types.field_adjoint(result)))
        both = variable(f"{var.name}_both", type_)
        out.append((both, function_call(made, (*call.arguments, *tangents), type_)))
        out.append((var, field_of(both, 0)))
        self._set(var, field_of(both, 1), out)
        return None

    def _branches(self, var: Var, node: If | Match, out: list[Binding]) -> Going:
        if isinstance(node, Match) and not node.clauses:
            out.append((var, node))
            return None
        arms: list[tuple[Pattern | None, Carried]] = []
        for pattern, body in self._arms(node):
            before: list[Binding] = []
            if pattern is not None and isinstance(node, Match):
                tangent = self.tangents.get(node.value)
                self._pattern(pattern, type_of(node.value), tangent, before)
            carried: Carried = yield self.block(body)
            carried.bindings[:0] = before
            arms.append((pattern, carried))
        if all(carried.tangent is None for _, carried in arms):
            blocks = [let_block(each.bindings, each.result) for _, each in arms]
            out.append((var, _chosen(node, [pattern for pattern, _ in arms], blocks)))
            return None
        blocks = [
            let_block(
                each.bindings, tuple_of((each.result, self._value(each.tangent, each.result)))
            )
            for _, each in arms
        ]
        both = variable(f"{var.name}_both", type_of(blocks[0]))
        out.append((both, _chosen(node, [pattern for pattern, _ in arms], blocks)))
        out.append((var, field_of(both, 0)))
        self._set(var, field_of(both, 1), out)
        return None

    def _arms(self, node: If | Match) -> list[tuple[Pattern | None, Expr]]:
        if isinstance(node, If):
            return [(None, node.true_branch), (None, node.false_branch)]
        type_, changes = type_of(node.value), node.value in self.tangents
        return [
            (with_names(self.types, each.pattern, type_) if changes else each.pattern, each.body)
            for each in node.clauses
        ]

    def _pattern(self, pattern: Pattern, type_: Type, tangent: Adjoint, out: list[Binding]) -> None:
        """Find the tangents of what a pattern binds."""
        match pattern:
            case _ if tangent is None:
                return
            case VarPattern():
                self._set(pattern.var, tangent, out)
            case TuplePattern() if isinstance(type_, TupleType):
                parts = zip(pattern.patterns, type_.fields, fields_of_adjoint(tangent), strict=True)
                for part, part_type, each in parts:
                    self._pattern(part, part_type, each, out)
            case ConstructorPattern() if isinstance(tangent, Expr):
                self._constructor_pattern(pattern, type_, tangent, out)

    def _constructor_pattern(
        self, pattern: ConstructorPattern, type_: Type, tangent: Expr, out: list[Binding]
    ) -> None:
        data, constructor = self.types.data(type_), pattern.constructor
        if constructor.name not in data.constructors:
            return
        types = self.types.constructor_fields(constructor, type_)
        fields = self.types.constructor_fields_of(data, constructor.name, type_of(tangent))
        bound = [variable(f"d{index}", wanted) for index, wanted in fields.items()]
        zeros = [
            self.values.zero(wanted, matched_value(pattern.patterns[index], types[index]))
            for index, wanted in fields.items()
        ]
        whole = matched(
            tangent,
            (
                (fields_pattern(data.constructors[constructor.name], bound), packed(bound)),
                (fields_pattern(data.zero, ()), packed(zeros)),
            ),
            complete=len(data.constructors) == 1,
        )
        var = variable(f"d_{constructor.name}", type_of(whole))
        out.append((var, whole))
        for index, part in zip(fields, unpacked(var, len(fields)), strict=True):
            expanded = self._expanded(part)
            self._pattern(pattern.patterns[index], types[index], expanded, out)


def _chosen(node: If | Match, patterns: list[Pattern | None], blocks: list[Expr]) -> Expr:
    """The same choice between other blocks."""
    if isinstance(node, If):
        return If(node.condition, blocks[0], blocks[1], type=blocks[0].type)
    clauses = tuple(
        Clause(pattern, block)
        for pattern, block in zip(patterns, blocks, strict=True)
        if pattern is not None
    )
    return Match(node.value, clauses, node.complete, type=blocks[0].type)
