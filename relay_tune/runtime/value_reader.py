"""Values of the language from the heap of a native program into Python.

They look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import Struct

import numpy as np

from relay_tune.first_order.kinds import ScalarKind, TensorKind
from relay_tune.first_order.layouts import (
    HEADER_BYTES,
    TENSOR_DATA,
    ObjectLayout,
    element_bytes,
    field_bytes,
)
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Constructor
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.runtime.interpreter_values import ConstructorValue, ReferenceCell, Value

_LAYOUT_OFFSET = 6

_CODES = {"bool": "?", "float16": "e", "float32": "f", "float64": "d", "bfloat16": "H"} | {
    f"{sign}int{bits}": code if sign == "" else code.upper()
    for sign in ("", "u")
    for bits, code in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))
}


@dataclass(frozen=True, eq=False, slots=True)
class _Form:
    """How the objects of a layout are read: their fields, after the header, as numbers."""

    constructor: Constructor | None
    types: tuple[Type, ...]
    numbers: Struct

    @staticmethod
    def of(constructor: Constructor | None, types: tuple[Type, ...], layout: ObjectLayout) -> _Form:
        """The form of a layout; a cell has no constructor."""
        codes = ["<"]
        end = HEADER_BYTES
        for offset, kind in zip(layout.offsets, layout.fields, strict=True):
            codes.append(f"{offset - end}x")
            codes.append(_CODES[kind.dtype] if isinstance(kind, ScalarKind) else "Q")
            end = offset + field_bytes(kind)
        return _Form(constructor, types, Struct("".join(codes)))


class ValueReader:
    """Reads objects, whose references stay as they are; shared objects are read once.

    An object's value is made before its fields are read, so no stack is needed.
    """

    def __init__(self, program: FirstOrderProgram) -> None:
        made = [made for listed in program.data_types.values() for made in listed]
        self._forms: Mapping[int, _Form] = {
            each.layout.number: _Form.of(each.constructor, each.fields, each.layout)
            for each in made
        } | {
            layout.number: _Form.of(None, (type_.value,), layout)
            for type_, layout in program.cells.items()
        }

    def value(self, address: int, type_: Type) -> Value:
        """The value of an object."""
        return _Reading(self._forms).all(address, type_)


class _Reading:
    """The reading of one value."""

    def __init__(self, forms: Mapping[int, _Form]) -> None:
        self._forms = forms
        self._known: dict[int, Value] = {}
        self._unread: deque[tuple[int, ConstructorValue | ReferenceCell, _Form]] = deque()

    def all(self, address: int, type_: Type) -> Value:
        """The value of an object with all that it refers to."""
        result = self._object(address, type_)
        while self._unread:
            place, value, form = self._unread.popleft()
            content = ctypes.string_at(place + HEADER_BYTES, form.numbers.size)
            numbers = iter(form.numbers.unpack(content))
            fields = tuple(self._field(type_, numbers) for type_ in form.types)
            if isinstance(value, ConstructorValue):
                object.__setattr__(value, "fields", fields)
            else:
                value.value = fields[0]
        return result

    def _field(self, type_: Type, numbers: Iterator[int | float]) -> Value:
        """The value of a type whose components are the next numbers."""
        if isinstance(type_, TupleType):
            return tuple(self._field(field, numbers) for field in type_.fields)
        number = next(numbers)
        if isinstance(type_, TensorType) and not type_.shape:
            if type_.dtype == "bfloat16":
                return np.array(number, np.uint16).view(DTYPES["bfloat16"])
            return np.array(number, DTYPES[type_.dtype])
        return self._object(int(number), type_)

    def _object(self, address: int, type_: Type) -> Value:
        """The value of an object; its fields are read later."""
        known = self._known.get(address)
        if known is not None:
            return known
        value: Value
        if isinstance(type_, TensorType):
            value = _tensor(address, type_)
        else:
            form = self._forms[ctypes.c_uint16.from_address(address + _LAYOUT_OFFSET).value]
            if form.constructor is None:
                value = ReferenceCell(())
            else:
                value = ConstructorValue(form.constructor, ())
            if form.types:
                self._unread.append((address, value, form))
        self._known[address] = value
        return value


def _tensor(address: int, type_: TensorType) -> np.ndarray:
    kind = TensorKind(type_)
    content = bytearray(ctypes.string_at(address + TENSOR_DATA, element_bytes(kind)))
    return np.frombuffer(content, DTYPES[type_.dtype]).reshape(kind.shape)
