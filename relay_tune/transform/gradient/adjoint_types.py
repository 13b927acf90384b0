"""The types of adjoints.

The adjoint of a tensor of floats has its type; that of a tuple is a tuple of adjoints. A data type

    type List[A] { Cons(A, List[A]), Nil }

has adjoints of a type of its own, in which zero takes no space:

    type ListAdjoint[A] { ListZero, ConsAdjoint(A, ListAdjoint[A]) }

Integers, functions and cells have none; where a tuple holds them, unit stands in their place. (The
adjoint of what a cell holds is kept in a second cell.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from relay_tune.ir.dtypes import is_float
from relay_tune.ir.expr import Constructor
from relay_tune.ir.reached import reached
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import (
    UNIT,
    GlobalTypeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.gradient.names import Names, title
from relay_tune.typing.type_terms import substitute_vars


def header_of(type_: Type) -> GlobalTypeVar | None:
    """The data type that a type is an instance of."""
    match type_:
        case GlobalTypeVar():
            return type_
        case TypeCall(function=GlobalTypeVar() as header):
            return header
        case _:
            return None


def arguments_of(type_: Type) -> tuple[Type, ...]:
    """What the parameters of a data type stand for in an instance of it."""
    return type_.arguments if isinstance(type_, TypeCall) else ()


def data_instance(header: GlobalTypeVar, arguments: tuple[Type, ...]) -> Type:
    """An instance of a data type, in the form that every instance of it has here."""
    return TypeCall(header, arguments) if arguments else header


@dataclass(frozen=True, eq=False)
class AdjointData:
    """The data type of adjoints of another data type.

    Attributes:
        definition: it, to be added to the module.
        zero: its constructor for no adjoint at all.
        constructors: by the name of the constructor whose fields have the adjoints; it has only
            those that have a field with an adjoint.
        fields: by the same name, the indices of these fields.
    """

    definition: TypeData
    zero: Constructor
    constructors: dict[str, Constructor]
    fields: dict[str, tuple[int, ...]]


@dataclass
class AdjointTypes:
    """Finds the types of adjoints, and defines those of data types when they are asked for."""

    types: Mapping[str, TypeData]
    names: Names
    made: dict[str, AdjointData] = field(default_factory=dict)
    """By the name of the data type that they belong to."""
    _known: dict[Type, bool] = field(default_factory=dict)

    def definitions(self) -> dict[str, TypeData]:
        """The data types of adjoints, by name."""
        return {data.definition.header.name: data.definition for data in self.made.values()}

    def adjoint(self, type_: Type) -> Type | None:
        """The type of adjoints of values of a type; None where there are none."""
        return self._adjoint(type_, {}) if self.has_adjoint(type_) else None

    def field_adjoint(self, type_: Type) -> Type:
        """The same, with the unit type for none."""
        return self.adjoint(type_) or UNIT

    def has_adjoint(self, type_: Type) -> bool:
        """Whether floats, or values of a type parameter, are reached through fields."""
        if type_ not in self._known:
            self._known[type_] = self._reaches_floats(type_)
        return self._known[type_]

    def data(self, type_: Type) -> AdjointData:
        """The data type of adjoints of a data type."""
        header = header_of(type_)
        assert header is not None
        if header.name not in self.made:
            self._define(self.types[header.name])
        return self.made[header.name]

    def constructor_fields(self, constructor: Constructor, type_: Type) -> tuple[Type, ...]:
        """The types of the fields of a constructor of the data type `type_`, an instance."""
        definition = self.types[constructor.belongs_to.name]
        known = next(each for each in definition.constructors if each.name == constructor.name)
        mapping: dict[Type, Type] = dict(
            zip(definition.type_params, arguments_of(type_), strict=False)
        )
        return tuple(substitute_vars(part, mapping) for part in known.inputs)

    def constructor_fields_of(
        self, data: AdjointData, constructor: str, type_: Type
    ) -> dict[int, Type]:
        """The indices of the fields of a constructor that have adjoints, with the adjoints' types.

        `type_` is the instance of the type of adjoints.
        """
        mapping: dict[Type, Type] = dict(
            zip(data.definition.type_params, arguments_of(type_), strict=False)
        )
        inputs = data.constructors[constructor].inputs
        pairs = zip(data.fields[constructor], inputs, strict=True)
        return {index: substitute_vars(part, mapping) for index, part in pairs}

    def _reaches_floats(self, type_: Type) -> bool:
        def fields(part: Type) -> Sequence[Type]:
            return part.fields if isinstance(part, TupleType) else self.fields_of_data(part)

        return any(
            is_float(part.dtype) if isinstance(part, TensorType) else isinstance(part, TypeVar)
            for part in reached([type_], fields)
        )

    def fields_of_data(self, type_: Type) -> list[Type]:
        """The types of the fields of all constructors of a data type; none of other types."""
        header = header_of(type_)
        if header is None or header.name not in self.types:
            return []
        constructors = self.types[header.name].constructors
        return [field for each in constructors for field in self.constructor_fields(each, type_)]

    def _adjoint(self, type_: Type, variables: Mapping[Type, Type]) -> Type:
        """The type of adjoints, where there are some; unit where there are none."""
        if not self.has_adjoint(type_):
            return UNIT
        match type_:
            case TupleType():
                return TupleType(tuple(self._adjoint(part, variables) for part in type_.fields))
            case TypeVar():
                return variables[type_]
        if header_of(type_) is None:
            return type_
        arguments = tuple(self._adjoint(part, variables) for part in arguments_of(type_))
        return data_instance(self.data(type_).definition.header, arguments)

    def _define(self, definition: TypeData) -> None:
        name = definition.header.name
        header = GlobalTypeVar(self.names.new(title(name, "adjoint")))
        params = tuple(TypeVar(var.name, var.kind) for var in definition.type_params)
        variables: dict[Type, Type] = dict(zip(definition.type_params, params, strict=True))
        zero = Constructor(self.names.new(title(name, "zero")), (), header, 0)
        data = AdjointData(TypeData(header, (), ()), zero, {}, {})
        self.made[name] = data
        for constructor in definition.constructors:
            indices = tuple(
                i for i, part in enumerate(constructor.inputs) if self.has_adjoint(part)
            )
            if indices:
                data.fields[constructor.name] = indices
                inputs = (self._adjoint(constructor.inputs[index], variables) for index in indices)
                data.constructors[constructor.name] = Constructor(
                    self.names.new(title(constructor.name, "adjoint")),
                    tuple(inputs),
                    header,
                    len(data.constructors) + 1,
                )
        made = TypeData(header, params, (zero, *data.constructors.values()))
        self.made[name] = AdjointData(made, zero, data.constructors, data.fields)
