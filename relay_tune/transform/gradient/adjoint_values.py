"""Adjoints as values of a program: zero, sums, and their fields in values of users' types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import cast

from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import UNIT, TensorType, TupleType, Type
from relay_tune.op_rules.gradient.expressions import plus, zeros_of
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.adjoint_types import AdjointData, AdjointTypes, header_of
from relay_tune.transform.gradient.names import Names
from relay_tune.transform.gradient.typed_nodes import (
    constructed,
    field_of,
    fields_pattern,
    function_call,
    matched,
    parameter,
    tuple_of,
    type_of,
    variable,
)


@dataclass
class AdjointValues:
    """Writes what is done with adjoints, and the functions that it takes for data types."""

    types: AdjointTypes
    names: Names
    functions: dict[str, Function] = field(default_factory=dict)
    _sums: dict[Type, str] = field(default_factory=dict)

    # as Python has them: None for zero, Python's tuples for those of tuples

    def total(self, left: Adjoint, right: Adjoint) -> Adjoint:
        """The sum of two adjoints of a value."""
        if left is None or right is None:
            return right if left is None else left
        if isinstance(left, Expr) and isinstance(right, Expr):
            return self.sum(left, right)
        pairs = zip(fields_of_adjoint(left), fields_of_adjoint(right), strict=True)
        return tuple(self.total(first, second) for first, second in pairs)

    def value(self, adjoint: Adjoint, like: Expr, type_: Type | None = None) -> Expr:
        """An adjoint of `like` as a value of the program, of type `type_`."""
        wanted = type_ or self.types.field_adjoint(type_of(like))
        if adjoint is None:
            return self.zero(wanted, like)
        if isinstance(adjoint, Expr):
            return adjoint
        assert isinstance(wanted, TupleType)
        fields = (
            self.value(part, field_of(like, index), wanted.fields[index])
            for index, part in enumerate(adjoint)
        )
        return tuple_of(fields)

    # as values of the program

    def zero(self, type_: Type, like: Expr) -> Expr:
        """Zero of a type of adjoints, for a value `like`."""
        match type_:
            case TensorType():
                return zeros_of(like)
            case TupleType():
                parts = enumerate(type_.fields)
                return tuple_of(self.zero(part, field_of(like, index)) for index, part in parts)
        return constructed(self._data(type_).zero, (), type_)

    def sum(self, left: Expr, right: Expr) -> Expr:
        """The sum of two values of one type of adjoints."""
        type_ = type_of(left)
        match type_:
            case TensorType():
                return plus(left, right)
            case TupleType():
                count = len(type_.fields)
                pairs = ((field_of(left, index), field_of(right, index)) for index in range(count))
                return tuple_of(self.sum(first, second) for first, second in pairs)
        return function_call(self._sum_function(type_), (left, right), type_)

    def _data(self, type_: Type) -> AdjointData:
        header = header_of(type_)
        return next(data for data in self.types.made.values() if data.definition.header == header)

    def _sum_function(self, type_: Type) -> str:
        name = self._sums.get(type_)
        if name is None:
            data = self._data(type_)
            name = self._sums[type_] = self.names.new(f"add_{data.definition.header.name}")
            self.functions[name] = self._sum_definition(type_, data)
        return name

    def _sum_definition(self, type_: Type, data: AdjointData) -> Function:
        """match (left) { zero => right, c(..) => match (right) { zero => left, c(..) => .. } }."""
        left, right = parameter("left", type_), parameter("right", type_)
        types = AdjointTypes({data.definition.header.name: data.definition}, self.names)
        clauses = [(fields_pattern(data.zero, ()), cast(Expr, right))]
        for constructor in data.constructors.values():
            fields = types.constructor_fields(constructor, type_)
            first = [variable(f"a{index}", part) for index, part in enumerate(fields)]
            second = [variable(f"b{index}", part) for index, part in enumerate(fields)]
            sums = [self.sum(one, other) for one, other in zip(first, second, strict=True)]
            both = matched(
                right,
                (
                    (fields_pattern(data.zero, ()), left),
                    (fields_pattern(constructor, second), constructed(constructor, sums, type_)),
                ),
                complete=len(data.constructors) == 1,
            )
            clauses.append((fields_pattern(constructor, first), both))
        return Function((left, right), matched(left, clauses), type_)


@dataclass
class UserValues:
    """Turns adjoints to values of the types that they belong to, and back.

    In such a value, a part without an adjoint is zero; where it has no zero, it is that of the
    value that the adjoint belongs to.
    """

    adjoints: AdjointValues
    _given: dict[Type, str] = field(default_factory=dict)
    _taken: dict[Type, str] = field(default_factory=dict)

    def given(self, adjoint: Adjoint, value: Expr) -> Expr:
        """The adjoint of `value` as a value of its type."""
        type_ = type_of(value)
        if header_of(type_) is not None and self._has_adjoint(type_):
            known = self.adjoints.value(adjoint, value)
            return function_call(self._given_function(type_), (value, known), type_)
        match type_:
            case TensorType():
                return adjoint if isinstance(adjoint, Expr) else zeros_of(value)
            case TupleType():
                parts = (
                    fields_of_adjoint(adjoint)
                    if adjoint is not None
                    else (None,) * len(type_.fields)
                )
                fields = (
                    self.given(_some(part), field_of(value, index))
                    for index, part in enumerate(parts)
                )
                return tuple_of(fields)
            case _:
                return value

    def taken(self, value: Expr) -> Adjoint:
        """The adjoint that a value of a user's type stands for."""
        type_ = type_of(value)
        if not self._has_adjoint(type_):
            return None
        match type_:
            case TensorType():
                return value
            case TupleType():
                count = len(type_.fields)
                return tuple(self.taken(field_of(value, index)) for index in range(count))
        result = self.adjoints.types.field_adjoint(type_)
        return function_call(self._taken_function(type_), (value,), result)

    def _has_adjoint(self, type_: Type) -> bool:
        return self.adjoints.types.has_adjoint(type_)

    def _given_function(self, type_: Type) -> str:
        return self._function(self._given, type_, "gradient_of", self._given_definition)

    def _given_definition(self, type_: Type) -> Function:
        """match (value) { C(x ..) => match (d) { CAdjoint(d ..) => C(..), zero => C(..) } }."""
        types = self.adjoints.types
        data = types.data(type_)
        value, adjoint = parameter("value", type_), parameter("d", types.field_adjoint(type_))
        clauses = []
        for constructor in _definition(types, type_).constructors:
            fields = types.constructor_fields(constructor, type_)
            bound = [variable(f"x{index}", part) for index, part in enumerate(fields)]
            zero = constructed(constructor, [self.given(None, each) for each in bound], type_)
            body: Expr = zero
            if constructor.name in data.constructors:
                wanted = types.constructor_fields_of(data, constructor.name, type_of(adjoint))
                parts = [variable(f"d{index}", part) for index, part in wanted.items()]
                known = dict(zip(wanted, parts, strict=True))
                made = [self.given(known.get(i), each) for i, each in enumerate(bound)]
                body = matched(
                    adjoint,
                    (
                        (
                            fields_pattern(data.constructors[constructor.name], parts),
                            constructed(constructor, made, type_),
                        ),
                        (fields_pattern(data.zero, ()), zero),
                    ),
                    complete=len(data.constructors) == 1,
                )
            clauses.append((fields_pattern(constructor, bound), body))
        return Function((value, adjoint), matched(value, clauses), type_)

    def _taken_function(self, type_: Type) -> str:
        return self._function(self._taken, type_, "adjoint_of", self._taken_definition)

    def _function(
        self,
        known: dict[Type, str],
        type_: Type,
        title: str,
        definition: Callable[[Type], Function],
    ) -> str:
        """The name of the function of a data type, which may call itself."""
        header = header_of(type_)
        assert header is not None
        if type_ not in known:
            name = known[type_] = self.adjoints.names.new(f"{title}_{header.name}")
            self.adjoints.functions[name] = definition(type_)
        return known[type_]

    def _taken_definition(self, type_: Type) -> Function:
        types = self.adjoints.types
        data, result = types.data(type_), types.field_adjoint(type_)
        value = parameter("value", type_)
        clauses = []
        for constructor in _definition(types, type_).constructors:
            fields = types.constructor_fields(constructor, type_)
            indices = data.fields.get(constructor.name, ())
            bound = [
                variable(f"x{index}", part) if index in indices else None
                for index, part in enumerate(fields)
            ]
            body = self.adjoints.zero(result, value)
            if indices:
                wanted = types.constructor_fields_of(data, constructor.name, result)
                made = [
                    self.adjoints.value(self.taken(cast(Var, bound[i])), cast(Var, bound[i]), part)
                    for i, part in wanted.items()
                ]
                body = constructed(data.constructors[constructor.name], made, result)
            clauses.append((fields_pattern(constructor, bound), body))
        return Function((value,), matched(value, clauses), result)


def fields_of_adjoint(adjoint: Adjoint) -> tuple[Adjoint, ...]:
    """The adjoints of the fields of a tuple."""
    if isinstance(adjoint, tuple):
        return adjoint
    assert adjoint is not None
    type_ = type_of(adjoint)
    assert isinstance(type_, TupleType)
    return tuple(field_of(adjoint, index) for index in range(len(type_.fields)))


def _some(adjoint: Adjoint) -> Adjoint:
    """An adjoint; None for the unit, which stands for none."""
    return None if isinstance(adjoint, Expr) and type_of(adjoint) == UNIT else adjoint


def _definition(types: AdjointTypes, type_: Type) -> TypeData:
    header = header_of(type_)
    assert header is not None
    return types.types[header.name]
