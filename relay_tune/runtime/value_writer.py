"""Values of the language from Python into the heap of a native program.

In Python they look as in the interpreter: arrays, tuples, `ConstructorValue`, `ReferenceCell`. A
value is described in words (`relay_tune.codegen.programs.build_text`), from which native code makes
the objects; the walk over it needs no Python stack.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from relay_tune.codegen.programs.build_text import OBJECT, PUSH, TENSOR
from relay_tune.errors import InputError
from relay_tune.first_order.kinds import TensorKind
from relay_tune.first_order.layouts import (
    ObjectLayout,
    class_bytes,
    element_bytes,
    field_bytes,
    size_class,
    tensor_bytes,
)
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.types import RefType, TensorType, TupleType, Type
from relay_tune.runtime.call_inputs import address_of, checked_array
from relay_tune.runtime.interpreter_values import ConstructorValue, ReferenceCell
from relay_tune.runtime.native_session import NativeSession
from relay_tune.typing.type_text import type_text

_Words = tuple[int, ...]


class ValueWriter:
    """Makes objects of a session from Python values."""

    def __init__(self, program: FirstOrderProgram, session: NativeSession) -> None:
        self._session = session
        self._cells = {type_: _object_words(layout) for type_, layout in program.cells.items()}
        self._constructors = {
            type_: {
                made.constructor.name: (made.fields[::-1], _object_words(made.layout))
                for made in listed
            }
            for type_, listed in program.data_types.items()
        }

    def new_object(self, value: object, type_: Type, name: str) -> int:
        """The address of a new object; InputError if the value, called `name`, does not fit."""
        words: list[int] = []
        kept: list[np.ndarray] = []
        todo: list[tuple[object, Type | _Words]] = [(value, type_)]
        while todo:
            part, part_type = todo.pop()
            if isinstance(part_type, TensorType):
                words += _tensor_words(part, part_type, name, kept)
            elif isinstance(part_type, tuple):
                words += part_type
            else:
                todo += self._opened(part, part_type, name)
        return self._session.build(array("Q", words))

    def _opened(
        self, value: object, type_: Type, name: str
    ) -> Iterator[tuple[object, Type | _Words]]:
        """What is to be written of a value, last things first."""
        match type_:
            case TupleType():
                if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
                    raise _does_not_fit(name, type_, f"a tuple of {len(type_.fields)} values")
                yield from zip(reversed(value), reversed(type_.fields), strict=True)
            case RefType():
                if not isinstance(value, ReferenceCell):
                    raise _does_not_fit(name, type_, "a ReferenceCell")
                yield None, self._cells[type_]
                yield value.value, type_.value
            case _:
                known = self._constructors[type_]
                if not isinstance(value, ConstructorValue) or value.constructor.name not in known:
                    raise _does_not_fit(name, type_, f"a ConstructorValue: {', '.join(known)}")
                fields, end = known[value.constructor.name]
                if len(value.fields) != len(fields):
                    raise _does_not_fit(name, type_, f"{len(fields)} fields")
                yield None, end
                yield from zip(reversed(value.fields), fields, strict=True)


def _tensor_words(value: object, type_: TensorType, name: str, kept: list[np.ndarray]) -> _Words:
    """The words of a scalar or tensor, whose elements must be kept until they are copied."""
    elements = checked_array(value, type_, name)
    if not type_.shape:
        return PUSH, int.from_bytes(elements.tobytes(), "little")
    kept.append(elements)
    kind = TensorKind(type_)
    number = size_class(tensor_bytes(kind))
    source = address_of(elements)
    return TENSOR, number, class_bytes(number), source, element_bytes(kind)


def _object_words(layout: ObjectLayout) -> _Words:
    """The words that make an object of fields that were pushed."""
    number = size_class(layout.size)
    pairs = zip(layout.offsets, layout.fields, strict=True)
    fields = [offset | field_bytes(kind) << 32 for offset, kind in pairs]
    header = number | layout.number << 16
    return OBJECT, number, class_bytes(number), header, len(fields), *fields


def _does_not_fit(name: str, type_: Type, wanted: str) -> InputError:
    return InputError(f"Input {name!r} must be {type_text(type_)}; give {wanted}.")
