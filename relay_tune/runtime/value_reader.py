"""Values of the language from the heap of a native program into Python.

They look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import TypeGuard

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


Convert = Callable[["_Reading", Iterator[int | float]], Value]
"""The value of a field, whose components are the next numbers."""


@dataclass(frozen=True, eq=False, slots=True)
class _Form:
    """How the objects of a layout are read: their fields, after the header, as numbers."""

    constructor: Constructor | None
    fields: tuple[Convert, ...]
    numbers: Struct
    size: int

    @staticmethod
    def of(constructor: Constructor | None, types: tuple[Type, ...], layout: ObjectLayout) -> _Form:
        """The form of a layout; a cell has no constructor."""
        codes = ["<"]
        end = HEADER_BYTES
        for offset, kind in zip(layout.offsets, layout.fields, strict=True):
            codes.append(f"{offset - end}x")
            codes.append(_CODES[kind.dtype] if isinstance(kind, ScalarKind) else "Q")
            end = offset + field_bytes(kind)
        numbers = Struct("".join(codes))
        return _Form(constructor, tuple(_convert(type_) for type_ in types), numbers, numbers.size)


class ValueReader:
    """Reads objects, whose references stay as they are; shared objects are read once.

    An object's value is made before its fields are read, so no stack is needed.
    """

    def __init__(self, program: FirstOrderProgram) -> None:
        made = [made for listed in program.data_types.values() for made in listed]
        forms = {each.layout: _Form.of(each.constructor, each.fields, each.layout) for each in made}
        for type_, layout in program.cells.items():
            forms[layout] = _Form.of(None, (type_.value,), layout)
        self._forms = {layout.number.to_bytes(2, "little"): f for layout, f in forms.items()}

    def value(self, address: int, type_: Type) -> Value:
        """The value of an object."""
        reading = _Reading(self._forms)
        result = reading.tensor(address, type_) if _is_tensor(type_) else reading.object(address)
        reading.finish()
        return result


class _Reading:
    """The reading of one value."""

    def __init__(self, forms: Mapping[bytes, _Form]) -> None:
        self._forms = forms
        self._known: dict[int, Value] = {}
        self._unread: list[tuple[int, ConstructorValue | ReferenceCell, _Form]] = []

    def finish(self) -> None:
        """Read the fields of all objects that were met."""
        unread, read, set_field = self._unread, ctypes.string_at, object.__setattr__
        while unread:
            address, value, form = unread.pop()
            numbers = iter(form.numbers.unpack(read(address + HEADER_BYTES, form.size)))
            fields = tuple([convert(self, numbers) for convert in form.fields])
            if isinstance(value, ConstructorValue):
                set_field(value, "fields", fields)
            else:
                value.value = fields[0]

    def object(self, address: int) -> Value:
        """The value of an object that is no tensor; its fields are read later."""
        known = self._known.get(address)
        if known is not None:
            return known
        form = self._forms[ctypes.string_at(address + _LAYOUT_OFFSET, 2)]
        value: ConstructorValue | ReferenceCell
        if form.constructor is None:
            value = ReferenceCell(())
        else:
            value = ConstructorValue(form.constructor, ())
        if form.fields:
            self._unread.append((address, value, form))
        self._known[address] = value
        return value

    def tensor(self, address: int, type_: TensorType) -> Value:
        """The elements of a tensor object."""
        known = self._known.get(address)
        if known is None:
            kind = TensorKind(type_)
            content = bytearray(ctypes.string_at(address + TENSOR_DATA, element_bytes(kind)))
            known = np.frombuffer(content, DTYPES[type_.dtype]).reshape(kind.shape)
            self._known[address] = known
        return known


def _convert(type_: Type) -> Convert:
    """How a field of a type is read."""
    if isinstance(type_, TupleType):
        parts = tuple(_convert(field) for field in type_.fields)
        return lambda reading, numbers: tuple([part(reading, numbers) for part in parts])
    if not isinstance(type_, TensorType):
        return lambda reading, numbers: reading.object(next(numbers))  # type: ignore[arg-type]
    if type_.shape:
        return lambda reading, numbers: reading.tensor(next(numbers), type_)  # type: ignore[arg-type]
    dtype = DTYPES[type_.dtype]
    if type_.dtype == "bfloat16":
        return lambda reading, numbers: np.array(next(numbers), np.uint16).view(dtype)
    return lambda reading, numbers: np.array(next(numbers), dtype)


def _is_tensor(type_: Type) -> TypeGuard[TensorType]:
    return isinstance(type_, TensorType)
