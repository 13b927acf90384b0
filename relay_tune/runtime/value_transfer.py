"""Values of the language between Python and the heap of a native program.

In Python they look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping

import numpy as np

from relay_tune.errors import InputError
from relay_tune.first_order.kinds import TensorKind
from relay_tune.first_order.layouts import (
    HEADER_BYTES,
    POINTER_BYTES,
    TENSOR_DATA,
    TENSOR_LAYOUT,
    ObjectLayout,
    element_bytes,
    tensor_bytes,
)
from relay_tune.first_order.program import ConstructorLayout, FirstOrderProgram
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.trampoline import Recursive, run
from relay_tune.ir.types import RefType, TensorType, TupleType, Type
from relay_tune.runtime.call_inputs import checked_array
from relay_tune.runtime.interpreter_values import ConstructorValue, ReferenceCell, Value
from relay_tune.runtime.native_session import NativeSession
from relay_tune.typing.type_text import type_text

_LAYOUT_OFFSET = 6


class ValueWriter:
    """Makes objects of a session from Python values."""

    def __init__(self, program: FirstOrderProgram, session: NativeSession) -> None:
        self._session = session
        self._cells = program.cells
        self._constructors = {
            type_: {made.constructor.name: made for made in listed}
            for type_, listed in program.data_types.items()
        }

    def new_object(self, value: object, type_: Type, name: str) -> int:
        """The address of a new object; InputError if the value, called `name`, does not fit."""
        (address,) = run(self._components(value, type_, name))
        return int.from_bytes(address, "little")

    def _components(self, value: object, type_: Type, name: str) -> Recursive[list[bytes]]:
        """The stored form of each component of a value."""
        match type_:
            case TupleType():
                return (yield self._tuple(value, type_, name))
            case TensorType(shape=()):
                return [checked_array(value, type_, name).tobytes()]
            case TensorType():
                return [self._tensor(checked_array(value, type_, name), type_)]
            case RefType():
                if not isinstance(value, ReferenceCell):
                    raise _does_not_fit(name, type_, "a ReferenceCell")
                fields = yield self._components(value.value, type_.value, name)
                return [self._object(self._cells[type_], fields)]
            case _:
                return (yield self._constructed(value, type_, name))

    def _tuple(self, value: object, type_: TupleType, name: str) -> Recursive[list[bytes]]:
        if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
            raise _does_not_fit(name, type_, f"a tuple of {len(type_.fields)} values")
        found: list[bytes] = []
        for index, (part, field) in enumerate(zip(value, type_.fields, strict=True)):
            found += yield self._components(part, field, f"{name}.{index}")
        return found

    def _constructed(self, value: object, type_: Type, name: str) -> Recursive[list[bytes]]:
        known = self._constructors.get(type_, {})
        made = known.get(value.constructor.name) if isinstance(value, ConstructorValue) else None
        if made is None or not isinstance(value, ConstructorValue):
            raise _does_not_fit(name, type_, f"a ConstructorValue of {', '.join(known)}")
        if len(value.fields) != len(made.fields):
            raise _does_not_fit(name, type_, f"{made.constructor.name} of {len(made.fields)}")
        fields: list[bytes] = []
        for part, field in zip(value.fields, made.fields, strict=True):
            fields += yield self._components(part, field, name)
        return [self._object(made.layout, fields)]

    def _tensor(self, array: np.ndarray, type_: TensorType) -> bytes:
        address = self._session.new_object(tensor_bytes(TensorKind(type_)), TENSOR_LAYOUT)
        ctypes.memmove(address + TENSOR_DATA, array.ctypes.data, array.nbytes)
        return address.to_bytes(POINTER_BYTES, "little")

    def _object(self, layout: ObjectLayout, fields: list[bytes]) -> bytes:
        address = self._session.new_object(layout.size, layout.number)
        content = bytearray(layout.size - HEADER_BYTES)
        for offset, field in zip(layout.offsets, fields, strict=True):
            content[offset - HEADER_BYTES : offset - HEADER_BYTES + len(field)] = field
        ctypes.memmove(address + HEADER_BYTES, bytes(content), len(content))
        return address.to_bytes(POINTER_BYTES, "little")


class ValueReader:
    """Reads objects of a session as Python values; shared objects are read once."""

    def __init__(self, program: FirstOrderProgram) -> None:
        self._cells = program.cells
        self._constructors: Mapping[int, ConstructorLayout] = {
            made.layout.number: made for listed in program.data_types.values() for made in listed
        }
        self._known: dict[int, Value] = {}

    def value(self, address: int, type_: Type) -> Value:
        """The value of an object, whose references stay as they are."""
        return run(self._object(address, type_))

    def _component(self, address: int, type_: Type) -> Recursive[Value]:
        """The value that is stored at an address: a number, or the address of an object."""
        if isinstance(type_, TensorType) and not type_.shape:
            return _array(address, type_)
        pointer = int.from_bytes(ctypes.string_at(address, POINTER_BYTES), "little")
        return (yield self._object(pointer, type_))

    def _object(self, address: int, type_: Type) -> Recursive[Value]:
        known = self._known.get(address)
        if known is None:
            known = yield self._new_value(address, type_)
            self._known[address] = known
        return known

    def _new_value(self, address: int, type_: Type) -> Recursive[Value]:
        match type_:
            case TensorType():
                return _array(address + TENSOR_DATA, type_)
            case RefType():
                places = iter([address + offset for offset in self._cells[type_].offsets])
                cell = ReferenceCell(())
                self._known[address] = cell
                cell.value = yield self._fields(places, type_.value)
                return cell
        number = int.from_bytes(ctypes.string_at(address + _LAYOUT_OFFSET, 2), "little")
        made = self._constructors[number]
        places = iter([address + offset for offset in made.layout.offsets])
        fields: list[Value] = []
        for field in made.fields:
            fields.append((yield self._fields(places, field)))
        return ConstructorValue(made.constructor, tuple(fields))

    def _fields(self, places: Iterator[int], type_: Type) -> Recursive[Value]:
        """The value of a type whose components are stored at the next places."""
        if not isinstance(type_, TupleType):
            return (yield self._component(next(places), type_))
        fields: list[Value] = []
        for field in type_.fields:
            fields.append((yield self._fields(places, field)))
        return tuple(fields)


def _array(address: int, type_: TensorType) -> np.ndarray:
    shape = TensorKind(type_).shape
    dtype = DTYPES[type_.dtype]
    size = dtype.itemsize if not shape else element_bytes(TensorKind(type_))
    return np.frombuffer(bytearray(ctypes.string_at(address, size)), dtype).reshape(shape)


def _does_not_fit(name: str, type_: Type, wanted: str) -> InputError:
    return InputError(f"Input {name!r} must be {type_text(type_)}: give {wanted}.")
