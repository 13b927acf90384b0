"""Values of the language from the heap of a native program into Python.

They look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`. Native code
describes all objects at once (`relay_tune.codegen.programs.read_values`); the fields of all objects
of a layout are then read together, field by field.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from struct import Struct

import numpy as np

from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Constructor
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import is_open_type
from relay_tune.program.layouts import TENSOR_DATA, TENSOR_SHAPE, ObjectLayout
from relay_tune.program.program import FirstOrderProgram
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.interpreter.values import (
    ConstructorValue,
    ReferenceCell,
    Value,
    value_of_nothing,
)
from relay_tune.runtime.native_session import NativeSession, ObjectDescription

# Setting slots directly is several times as quick as the constructor of a frozen class.
_set_constructor = vars(ConstructorValue)["constructor"].__set__
_set_fields = vars(ConstructorValue)["fields"].__set__

_Object = ConstructorValue | ReferenceCell

Columns = Iterator[np.ndarray]
"""The components of objects of a layout that are still to be read, int64 [objects] each."""

ReadColumn = Callable[["_Reading", Columns, int], Sequence[Value]]
"""Takes the next components of so many objects and gives the values of a field."""


@dataclass(frozen=True, eq=False, slots=True)
class _Form:
    """Constructor and fields of a layout's objects; a cell has no constructor.

    `columns` read each field in all objects of the layout.
    """

    constructor: Constructor | None
    fields: tuple[Type, ...]
    layout: ObjectLayout
    columns: tuple[ReadColumn, ...]

    @staticmethod
    def of(
        constructor: Constructor | None, fields: tuple[Type, ...], layout: ObjectLayout
    ) -> _Form:
        """Describe the objects of a layout with fields of these types."""
        return _Form(constructor, fields, layout, tuple(map(_column_reader, fields)))


class ValueReader:
    """Reads objects, whose references stay as they are; shared objects are read once."""

    def __init__(self, program: FirstOrderProgram, session: NativeSession) -> None:
        self._session = session
        made = [made for listed in program.data_types.values() for made in listed]
        forms = [_Form.of(each.constructor, each.fields, each.layout) for each in made]
        forms += [_Form.of(None, (type_.value,), layout) for type_, layout in program.cells.items()]
        self._forms = {form.layout.number: form for form in forms}
        count = max(self._forms, default=0) + 1
        self._width = max((len(form.layout.fields) for form in forms), default=0)
        self._classes: list[type[_Object]] = [ConstructorValue] * count
        for layout in program.cells.values():
            self._classes[layout.number] = ReferenceCell
        self._static = [self._static_value(number) for number in reversed(range(1, count))]

    def values(self, addresses: Sequence[int]) -> list[Value]:
        """The values of objects that are no tensors."""
        if not addresses:
            return []
        description = self._session.read(addresses, self._width)
        reading = _Reading(self._session, description, self._classes, self._static)
        return reading.values(self._forms)

    def tensor(self, address: int, type_: TensorType) -> np.ndarray:
        """The elements of a tensor with open sizes."""
        return _open_tensor(address, type_)

    def _static_value(self, number: int) -> Value:
        """The value of a layout without fields, which is one object."""
        form = self._forms.get(number)
        if form is None or form.constructor is None or form.layout.fields:
            return ()
        return ConstructorValue(form.constructor, tuple(map(value_of_nothing, form.fields)))


class _Reading:
    """The reading of described objects.

    Attributes:
        objects: their values by number and, from its end, those of static objects.
    """

    def __init__(
        self,
        session: NativeSession,
        description: ObjectDescription,
        classes: Sequence[type[_Object]],
        static: list[Value],
    ) -> None:
        self._session = session
        self._description = description
        self._layouts = description.layouts.tolist()
        self._made = [object.__new__(classes[number]) for number in self._layouts]
        self.objects: list[Value] = [*self._made, *static]
        self._tensors: dict[TensorType, dict[int, np.ndarray]] = {}

    def values(self, forms: Mapping[int, _Form]) -> list[Value]:
        """The values of the roots, all objects filled."""
        numbers = set(self._layouts)
        for number in numbers:
            if len(numbers) == 1:  # lists, mostly: a third of the time
                self._fill(forms[number], self._made, self._description.fields)
                continue
            positions = np.flatnonzero(self._description.layouts == number)
            made = [self._made[position] for position in positions.tolist()]
            self._fill(forms[number], made, self._description.fields[positions])
        return [self.objects[word] for word in self._description.roots]

    def _fill(self, form: _Form, made: Sequence[_Object], components: np.ndarray) -> None:
        """Give objects of one layout their fields, whose components are int64 [objects, fields]."""
        columns = iter(components.T)
        fields = [read(self, columns, len(made)) for read in form.columns]
        rows = zip(*fields, strict=True)
        if form.constructor is None:
            for cell, (value,) in zip(made, rows, strict=True):
                assert isinstance(cell, ReferenceCell)
                cell.value = value
            return
        constructor = form.constructor
        for made_value, row in zip(made, rows, strict=True):
            _set_constructor(made_value, constructor)
            _set_fields(made_value, row)

    def tensors(self, addresses: list[int], type_: TensorType) -> Sequence[Value]:
        """The tensors at addresses, copied together."""
        known = self._tensors.setdefault(type_, {})
        new = [address for address in dict.fromkeys(addresses) if address not in known]
        if is_open_type(type_):
            known.update((address, _open_tensor(address, type_)) for address in new)
            return [known[address] for address in addresses]
        shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
        block = np.empty((len(new), *shape), DTYPES[type_.dtype])
        self._session.gather(new, block)
        known.update(zip(new, block, strict=True))
        return [known[address] for address in addresses]


def _column_reader(type_: Type) -> ReadColumn:
    """Return the reader of a type's field values."""
    match type_:
        case TupleType(fields=()):
            return lambda reading, columns, count: [()] * count
        case TupleType():
            return partial(_read_tuples, tuple(map(_column_reader, type_.fields)))
        case TensorType(shape=()):
            dtype = DTYPES[type_.dtype]
            return lambda reading, columns, count: _scalars(next(columns), dtype)
        case TensorType():
            return lambda reading, columns, count: reading.tensors(next(columns).tolist(), type_)
        case _:
            return _read_objects


def _read_objects(reading: _Reading, columns: Columns, count: int) -> Sequence[Value]:
    return list(map(reading.objects.__getitem__, next(columns).tolist()))


def _read_tuples(
    fields: Sequence[ReadColumn], reading: _Reading, columns: Columns, count: int
) -> Sequence[Value]:
    return list(zip(*(read(reading, columns, count) for read in fields), strict=True))


def _open_tensor(address: int, type_: TensorType) -> np.ndarray:
    """The elements of a tensor whose object has its sizes."""
    rank = len(type_.shape)
    sizes = ctypes.string_at(address + TENSOR_SHAPE, 8 * rank)
    elements = np.empty(Struct(f"<{rank}q").unpack(sizes), DTYPES[type_.dtype])
    ctypes.memmove(address_of(elements), address + TENSOR_DATA, elements.nbytes)
    return elements


def _scalars(words: np.ndarray, dtype: np.dtype[np.generic]) -> Sequence[Value]:
    """The numbers in the low bytes of words, as arrays of rank 0."""
    numbers = words.astype("<i8").view(dtype)[:: words.itemsize // dtype.itemsize]
    return [numbers[index, ...] for index in range(len(numbers))]
