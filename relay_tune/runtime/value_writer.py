"""Values of the language from Python into the heap of a native program.

In Python they look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`. One
walk, which needs no Python stack, describes a value by numbers and collects its tensors and scalars
in columns (`relay_tune.codegen.programs.build_text`); one call of native code makes the objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from relay_tune.codegen.programs.build_text import FIRST_LEAF
from relay_tune.errors import InputError
from relay_tune.first_order.kinds import MAXIMUM_OPEN_RANK, TensorKind, is_open_type
from relay_tune.first_order.layouts import (
    class_bytes,
    element_bytes,
    size_class,
    tensor_bytes,
)
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import RefType, TensorType, TupleType, Type
from relay_tune.runtime.call_inputs import address_of, checked_array
from relay_tune.runtime.interpreter_values import ConstructorValue, ReferenceCell, Value
from relay_tune.runtime.native_session import NativeSession
from relay_tune.typing.type_text import type_text


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
    """A value so far: its codes, and columns with the types of their tensors."""

    codes: list[int]
    columns: list[list[object]]
    leaves: list[TensorType]
    open_columns: dict[TensorType, int] = field(default_factory=dict)

    def add_open(self, tensor: np.ndarray, dtype: str) -> None:
        """Describe a tensor whose type leaves its shape open."""
        type_ = TensorType(tensor.shape, dtype)
        if type_ not in self.open_columns:
            self.open_columns[type_] = len(self.leaves)
            self.leaves.append(type_)
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


@dataclass(frozen=True, eq=False, slots=True)
class _Constructor:
    """How the values of a constructor are described.

    Attributes:
        code: the layout number.
        count: the number of fields.
        leaves: the fields that are leaves, up to the first that is none.
        later: the fields after that, last one first.
        first: the first field that is no leaf.
    """

    code: int
    count: int
    leaves: tuple[tuple[int, _LeafForm], ...]
    later: tuple[tuple[int, _Form], ...]
    first: tuple[int, _Form] | None

    @staticmethod
    def of(code: int, fields: Sequence[_Form]) -> _Constructor:
        """The constructor of a layout whose fields have these forms."""
        numbered = list(enumerate(fields))
        leaves: list[tuple[int, _LeafForm]] = []
        for place, form in numbered:
            if not isinstance(form, _LeafForm):
                break
            leaves.append((place, form))
        others = numbered[len(leaves) :]
        later = tuple(reversed(others[1:]))
        return _Constructor(code, len(fields), tuple(leaves), later, others[0] if others else None)


@dataclass(eq=False, slots=True)
class _DataForm(_Form):
    """A data type: its constructors by name."""

    constructors: dict[str, _Constructor]


class ValueWriter:
    """Makes objects of a session from Python values."""

    def __init__(self, program: FirstOrderProgram, session: NativeSession) -> None:
        self._session = session
        self._program = program
        self._leaves: list[TensorType] = []
        self._forms: dict[Type, _Form] = {}
        known = {type_: _DataForm(type_, {}) for type_ in program.data_types}
        self._forms.update(known)
        for type_, listed in program.data_types.items():
            for made in listed:
                fields = [self._form(field) for field in made.fields]
                described = _Constructor.of(made.layout.number, fields)
                known[type_].constructors[made.constructor.name] = described

    def new_object(self, value: object, type_: Type, name: str) -> int:
        """The address of a new object; InputError if the value, called `name`, does not fit."""
        form = self._form(type_)
        codes: list[int] = []
        columns: list[list[object]] = [[] for _ in self._leaves]
        described = _Description(codes, columns, list(self._leaves))
        todo: list[tuple[object, _Form]] = [(value, form)]
        while todo:
            part, form = todo.pop()
            while form.__class__ is _DataForm:  # along the first fields, without the stack
                fields, made = _opened(part, form, name)
                codes.append(made.code)
                for place, leaf in made.leaves:
                    codes.append(leaf.code)
                    columns[leaf.column].append(fields[place])
                for place, later in made.later:
                    todo.append((fields[place], later))
                if made.first is None:
                    break
                place, form = made.first
                part = fields[place]
            else:
                todo += _described(part, form, name, described)
        return self._build(described, name)

    def _build(self, described: _Description, name: str) -> int:
        kept: list[np.ndarray] = []
        words = array("Q")
        for values, type_ in zip(described.columns, described.leaves, strict=True):
            column = _column(values, type_, name)
            sizes = _header_sizes(type_)
            kept += [column, sizes]
            has_sizes = self._program.is_open and type_.shape
            words.extend((*_leaf_words(column, type_), address_of(sizes) if has_sizes else 0))
        return self._session.build(array("H", described.codes), words)

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
                self._leaves.append(type_)
                column = len(self._leaves) - 1
                return _LeafForm(type_, FIRST_LEAF + column, column)
            case TupleType():
                return _TupleForm(type_, tuple(self._form(f) for f in reversed(type_.fields)))
            case RefType():
                return _CellForm(type_, self._program.cells[type_].number, self._form(type_.value))
            case _:
                return self._forms[type_]


def _opened(value: object, form: _DataForm, name: str) -> tuple[tuple[Value, ...], _Constructor]:
    """The fields of a value of a data type, and how its constructor is described."""
    if value.__class__ is ConstructorValue:
        made = form.constructors.get(value.constructor.name)
        if made is not None:
            fields = value.fields
            if len(fields) == made.count:
                return fields, made
            raise _does_not_fit(name, form.type, f"{made.count} fields")
    raise _does_not_fit(name, form.type, f"a ConstructorValue: {', '.join(form.constructors)}")


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
            described.codes.append(form.code)
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
    found = {(value.dtype, value.shape) for value in values}  # type: ignore[attr-defined]
    return found == {(DTYPES[type_.dtype], type_.shape)}


def _leaf_words(column: np.ndarray, type_: TensorType) -> tuple[int, ...]:
    """The words of `leaves` for a kind of leaf, but the last."""
    end = address_of(column) + column.nbytes
    if not type_.shape:
        return end, column.itemsize, 0, 0
    kind = TensorKind(type_)
    number = size_class(tensor_bytes(kind))
    return end, element_bytes(kind), number, class_bytes(number)


def _header_sizes(type_: TensorType) -> np.ndarray:
    """The sizes of a tensor as its object has them."""
    sizes = np.zeros(MAXIMUM_OPEN_RANK, np.int64)
    known = [dim for dim in type_.shape if isinstance(dim, int)][:MAXIMUM_OPEN_RANK]
    sizes[: len(known)] = known
    return sizes


def _does_not_fit(name: str, type_: Type, wanted: str) -> InputError:
    return InputError(f"Input {name!r} must be {type_text(type_)}; give {wanted}.")
