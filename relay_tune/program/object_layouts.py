"""The layouts of a program's constructors, cells and closures, each made once."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.expr import Constructor
from relay_tune.ir.module import Module
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
)
from relay_tune.program.kinds import Kind, canonical, kinds_of
from relay_tune.program.layouts import MAXIMUM_LAYOUTS, ObjectLayout
from relay_tune.program.program import ConstructorLayout
from relay_tune.typing.type_terms import is_larger, substitute_vars
from relay_tune.typing.type_text import type_text

LARGEST_TYPE = 10_000
"""Parts of the largest type that takes part in an input or output of a native program."""

DEEPEST_TYPE = 100
"""How deep it may be nested."""


class ObjectLayouts:
    """Gives layouts, and the types of constructors' fields."""

    def __init__(self, module: Module) -> None:
        self.all: list[ObjectLayout] = []
        self._constructors: dict[tuple[Type, str], ObjectLayout] = {}
        self._types = module.types
        self._cells: dict[Type, ObjectLayout] = {}

    def constructor(self, type_: Type, constructor: Constructor) -> ObjectLayout:
        """The layout of the values of a data type that a constructor makes."""
        key = (type_, constructor.name)
        if key not in self._constructors:
            fields = [k for t in self.field_types(type_, constructor) for k in kinds_of(t)]
            self._constructors[key] = self.new(f"{constructor.name} of {type_text(type_)}", fields)
        return self._constructors[key]

    def field_types(self, type_: Type, constructor: Constructor) -> tuple[Type, ...]:
        """The types of a constructor's fields in a data type with type arguments."""
        header, arguments = _applied(type_)
        data = self._types[header.name]
        if len(arguments) != len(data.type_params):
            raise NoNativeCodeError(f"{type_text(type_)} lacks type arguments.")
        mapping: dict[Type, Type] = dict(zip(data.type_params, arguments, strict=True))
        return tuple(canonical(substitute_vars(field, mapping)) for field in constructor.inputs)

    def constructors_of(self, type_: Type) -> dict[str, Constructor]:
        """The constructors of a data type by name."""
        header, _ = _applied(type_)
        return {
            constructor.name: constructor for constructor in self._types[header.name].constructors
        }

    def outside(
        self, *types: Type
    ) -> tuple[dict[Type, tuple[ConstructorLayout, ...]], dict[RefType, ObjectLayout]]:
        """The data types and cells that values of these types consist of.

        Raises NoNativeCodeError where there is a function among them, or no end of data types.
        """
        found: dict[Type, tuple[ConstructorLayout, ...]] = {}
        cells: dict[RefType, ObjectLayout] = {}
        pending = list(types)
        while pending:
            type_ = pending.pop()
            if is_larger(type_, LARGEST_TYPE, DEEPEST_TYPE):
                raise NoNativeCodeError(
                    "A value of the program's inputs or outputs may consist of ever larger types.",
                    notes=(_growing(types),),
                )
            match type_:
                case TupleType():
                    pending += type_.fields
                case RefType() if type_ not in cells:
                    cells[type_] = self.cell(type_)
                    pending.append(type_.value)
                case FuncType():
                    raise NoNativeCodeError(
                        "A native program neither takes nor returns functions.",
                        notes=(f"There is one of type {type_text(type_)}.",),
                    )
                case GlobalTypeVar() | TypeCall() if type_ not in found:
                    found[type_] = tuple(
                        ConstructorLayout(
                            constructor,
                            self.field_types(type_, constructor),
                            self.constructor(type_, constructor),
                        )
                        for constructor in self.constructors_of(type_).values()
                    )
                    pending += [field for made in found[type_] for field in made.fields]
        return found, cells

    def cell(self, type_: RefType) -> ObjectLayout:
        """The layout of cells."""
        if type_ not in self._cells:
            self._cells[type_] = self.new(type_text(type_), kinds_of(type_.value))
        return self._cells[type_]

    def new(self, name: str, fields: Sequence[Kind]) -> ObjectLayout:
        """Another layout."""
        if len(self.all) + 1 >= MAXIMUM_LAYOUTS:
            raise NoNativeCodeError(
                f"The program has more than {MAXIMUM_LAYOUTS} kinds of objects."
            )
        layout = ObjectLayout(len(self.all) + 1, name, tuple(fields))
        self.all.append(layout)
        return layout


def _applied(type_: Type) -> tuple[GlobalTypeVar, tuple[Type, ...]]:
    """A data type and its arguments."""
    match type_:
        case GlobalTypeVar():
            return type_, ()
        case TypeCall(function=GlobalTypeVar() as header):
            return header, type_.arguments
        case _:
            raise NoNativeCodeError(f"{type_text(type_)} is no data type.")


def _growing(types: Sequence[Type]) -> str:
    """Where the types without end come from."""
    named = ", ".join(type_text(type_) for type_ in types if not isinstance(type_, TensorType))
    return f"Data types hold themselves at other types: look at {named}."
