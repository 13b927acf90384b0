"""Values of the language from Python into the heap of a native program.

In Python they look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`. One
walk, which needs no Python stack, describes a value by numbers and collects its tensors and scalars
in columns (`relay_tune.codegen.programs.build_values`); one call of native code makes the objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import field
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from relay_tune.codegen.programs.build_values import FIRST_LEAF
from relay_tune.errors import InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import RefType, TensorType, TupleType, Type
from relay_tune.program.kinds import is_open_type
from relay_tune.program.program import FirstOrderProgram
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.call_inputs import address_of, checked_array
from relay_tune.runtime.interpreter.values import ConstructorValue, ReferenceCell
from relay_tune.runtime.leaf_words import Leaf
from relay_tune.runtime.native_session import NativeSession
from relay_tune.typing.type_text import type_text

SHAPE_OF, DTYPE_OF = attrgetter("shape"), attrgetter("dtype")


@dataclass(eq=False, slots=True)
class _Form:
    """How the values of a type are described."""

    type: Type


@dataclass(eq=False, slots=True)
class _LeafForm(_Form):
    """Tensors of a type: their code, and the column that they are collected in."""

    code: int
    column: int


@dataclass(eq=False, slots=True)
class _OpenLeafForm(_Form):
    """Tensors of a type with open sizes; those of each shape have a column of their own."""


@dataclass(eq=False, slots=True)
class _Description:
    """A value so far: its codes, columns with the types of their tensors, and its cells."""

    codes: list[int]
    columns: list[list[object]]
    leaves: list[Leaf]
    program: FirstOrderProgram
    cells: set[int]
    open_columns: dict[TensorType, int] = field(default_factory=dict)

    def add_cell(self, cell: ReferenceCell, code: int, name: str) -> None:
        """Describe a cell; InputError if it was met before, since objects are made as a tree."""
        if id(cell) in self.cells:
            raise InputError(
                f"Input {name!r} holds one cell in several places, or inside of itself.",
                remedy="Give each cell once, or make cells that are shared in the program.",
            )
        self.cells.add(id(cell))
        self.codes.append(code)

    def add_open(self, tensor: np.ndarray, dtype: str) -> None:
        """Describe a tensor whose type leaves its shape open."""
        type_ = TensorType(tensor.shape, dtype)
        if type_ not in self.open_columns:
            self.open_columns[type_] = len(self.leaves)
            self.leaves.append(Leaf(type_, self.program))
            self.columns.append([])
        self.codes.append(FIRST_LEAF + self.open_columns[type_])
        self.columns[self.open_columns[type_]].append(tensor)


@dataclass(eq=False, slots=True)
class _TupleForm(_Form):
    """Tuples, which are their fields; the forms of these, last one first."""

    fields: tuple[_Form, ...] = ()


@dataclass(eq=False, slots=True)
class _CellForm(_Form):
    """References: the code, and the form of their values."""

    code: int
    value: _Form


class _Constructor(NamedTuple):
    """How the values of a constructor are described.

    Attributes:
        arity: the number of fields.
        codes: the layout number, and the codes of the fields that are leaves, up to the first that
            is none.
        leaves: the indices of these fields, with their columns.
        later: the fields after the first that is no leaf, last one first.
        first: the index of that field.
        form: its form; None if there is none.
    """

    arity: int
    codes: tuple[int, ...]
    leaves: tuple[tuple[int, int], ...]
    later: tuple[tuple[int, _Form], ...]
    first: int
    form: _Form | None

    @staticmethod
    def of(code: int, fields: Sequence[_Form]) -> _Constructor:
        """The constructor of a layout whose fields have these forms."""
        leaves: list[_LeafForm] = []
        for form in fields:
            if not isinstance(form, _LeafForm):
                break
            leaves.append(form)
        first = len(leaves)
        return _Constructor(
            len(fields),
            (code, *(leaf.code for leaf in leaves)),
            tuple((index, leaf.column) for index, leaf in enumerate(leaves)),
            tuple(reversed(list(enumerate(fields))[first + 1 :])),
            first,
            fields[first] if first < len(fields) else None,
        )


@dataclass(eq=False, slots=True)
class _DataForm(_Form):
    """A data type: its constructors by name."""

    constructors: dict[str, _Constructor]


class ValueWriter:
    """Makes objects of a session from Python values."""

    def __init__(self, program: FirstOrderProgram, session: NativeSession) -> None:
        self._session = session
        self._program = program
        self._leaves: list[Leaf] = []
        self._forms: dict[Type, _Form] = {}
        known = {type_: _DataForm(type_, {}) for type_ in program.data_types}
        self._forms.update(known)
        for type_, listed in program.data_types.items():
            for made in listed:
                fields = [self._form(field) for field in made.fields]
                described = _Constructor.of(made.layout.number, fields)
                known[type_].constructors[made.constructor.name] = described

    def new_object(self, value: object, type_: Type, name: str, cells: set[int]) -> int:
        """The address of a new object; InputError if the value, called `name`, does not fit.

        `cells` are the cells of the call so far; those of the value are added.
        """
        form = self._form(type_)
        codes: list[int] = []
        columns: list[list[object]] = [[] for _ in self._leaves]
        described = _Description(codes, columns, list(self._leaves), self._program, cells)
        todo: list[tuple[object, _Form]] = [(value, form)]
        while todo:
            part, form = todo.pop()
            while form.__class__ is _DataForm:  # along the first fields, without the stack
                if part.__class__ is not ConstructorValue:
                    raise _no_value_of(form, name)
                made = form.constructors.get(part.constructor.name)
                if made is None:
                    raise _no_value_of(form, name)
                arity, new_codes, leaves, later, first, next_form = made
                fields = part.fields
                if len(fields) != arity:
                    raise _does_not_fit(name, form.type, f"{arity} fields")
                codes += new_codes
                for index, column in leaves:
                    columns[column].append(fields[index])
                for index, later_form in later:
                    todo.append((fields[index], later_form))
                if next_form is None:
                    break
                part, form = fields[first], next_form
            else:
                todo += _described(part, form, name, described)
        return self._build(described, name)

    def _build(self, described: _Description, name: str) -> int:
        kept: list[np.ndarray] = []
        words = array("Q")
        for values, leaf in zip(described.columns, described.leaves, strict=True):
            column = _column(values, leaf.type, name)
            kept.append(column)
            words.append(address_of(column) + column.nbytes)
            words.extend(leaf.words)
        codes = array("H", described.codes)
        stack = array("Q", bytes(8 * (len(codes) + 1)))
        addresses = words.buffer_info()[0], stack.buffer_info()[0]
        return self._session.build(*codes.buffer_info(), *addresses)

    def _form(self, type_: Type) -> _Form:
        """The form of a type, which is made when it is first needed."""
        if type_ not in self._forms:
            self._forms[type_] = self._new_form(type_)
        return self._forms[type_]

    def _new_form(self, type_: Type) -> _Form:
        match type_:
            case TensorType() if is_open_type(type_):
                return _OpenLeafForm(type_)
            case TensorType():
                self._leaves.append(Leaf(type_, self._program))
                column = len(self._leaves) - 1
                return _LeafForm(type_, FIRST_LEAF + column, column)
            case TupleType():
                return _TupleForm(type_, tuple(self._form(f) for f in reversed(type_.fields)))
            case RefType():
                return _CellForm(type_, self._program.cells[type_].number, self._form(type_.value))
            case _:
                return self._forms[type_]


def _described(
    part: object, form: _Form, name: str, described: _Description
) -> Iterable[tuple[object, _Form]]:
    """Describe a value that is of no data type; its own parts, last one first."""
    match form:
        case _LeafForm():
            described.codes.append(form.code)
            described.columns[form.column].append(part)
            return ()
        case _OpenLeafForm(type=TensorType() as type_):
            described.add_open(checked_array(part, type_, name), type_.dtype)
            return ()
        case _CellForm():
            if not isinstance(part, ReferenceCell):
                raise _does_not_fit(name, form.type, "a ReferenceCell")
            described.add_cell(part, form.code, name)
            return ((part.value, form.value),)
        case _:
            assert isinstance(form, _TupleForm)
            if not isinstance(part, tuple | list) or len(part) != len(form.fields):
                raise _does_not_fit(name, form.type, f"a tuple of {len(form.fields)} values")
            return zip(part[::-1], form.fields, strict=True)


def _column(values: Sequence[object], type_: TensorType, name: str) -> np.ndarray:
    """Tensors of a type, checked, one after the other in memory."""
    dtype = DTYPES[type_.dtype]
    if not values:
        return np.empty(0, dtype)
    if {*map(type, values)} != {np.ndarray} or not _are_exact(values, type_):
        values = [checked_array(value, type_, name) for value in values]
    if not type_.shape:
        return np.array(values, dtype)
    return np.ascontiguousarray(np.concatenate(values))  # type: ignore[arg-type]  # all are arrays


def _are_exact(values: Sequence[object], type_: TensorType) -> bool:
    """Whether arrays have this type."""
    if {*map(SHAPE_OF, values)} != {type_.shape}:
        return False
    return {*map(DTYPE_OF, values)} == {DTYPES[type_.dtype]}


def _no_value_of(form: _DataForm, name: str) -> InputError:
    return _does_not_fit(name, form.type, f"a ConstructorValue: {', '.join(form.constructors)}")


def _does_not_fit(name: str, type_: Type, wanted: str) -> InputError:
    return InputError(f"Input {name!r} must be {type_text(type_)}; give {wanted}.")
