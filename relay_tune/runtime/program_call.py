"""A program with control flow or data types whose machine code is in this process: its calls."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence

import numpy as np

from relay_tune.errors import InputError, RelayError
from relay_tune.first_order.kinds import component_types, is_open_type
from relay_tune.first_order.program import FirstOrderProgram
from relay_tune.ir.dim import Symbol
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.runtime.call_inputs import (
    address_of,
    check_open_sizes,
    checked_array,
)
from relay_tune.runtime.direct.call import direct_call
from relay_tune.runtime.direct.callee import session_callee
from relay_tune.runtime.interpreter.python_values import from_python
from relay_tune.runtime.interpreter.values import Value
from relay_tune.runtime.native_session import NativeSession, SessionFunctions
from relay_tune.runtime.value_reader import ValueReader
from relay_tune.runtime.value_writer import ValueWriter


class ProgramCall:
    """Runs a native program with one number of threads.

    Attributes:
        direct: the short way of a call; None where there is none.
    """

    def __init__(
        self,
        program: FirstOrderProgram,
        functions: SessionFunctions,
        threads: int,
        lock: threading.Lock,
    ) -> None:
        """`lock` is that of all calls of the program, which run one after the other."""
        entry = program.entries["main"]
        self._types = dict(entry.inputs)
        self._output = entry.output
        self._parts = [part for n, type_ in entry.inputs.items() for part in _named_parts(type_, n)]
        self._has_tuples = any(isinstance(type_, TupleType) for type_ in entry.inputs.values())
        self._has_cells = program.has_cells
        self._session = NativeSession(functions, threads)
        self._writer = ValueWriter(program, self._session)
        self._reader = ValueReader(program, self._session)
        self._inputs = (ctypes.c_void_p * _word_count(*self._types.values()))()
        self._results = [_Result(type_) for type_ in component_types(self._output)]
        self._outputs = (ctypes.c_void_p * len(self._results))()
        self._lock = lock
        words, results = len(self._inputs), len(self._results)
        self.direct = direct_call(
            self._types,
            self._output,
            lambda: session_callee(self._session, words, results, self._has_cells),
            lock,
            program,
        )

    def value(self, values: Sequence[object]) -> Value:
        """The value for inputs in order: by the short way, or else by the long one."""
        value: Value | None = None if self.direct is None else self.direct(values, 0)
        if value is not None:
            return value
        with self._lock:
            return self._call(values)

    def _call(self, values: Sequence[object]) -> Value:
        kept = self._bind(values)
        arrays = [result.room() for result in self._results]
        for place, room in enumerate(arrays):
            self._outputs[place] = address_of(room)
        self._session.call(self._inputs, self._outputs)
        del kept
        pairs = list(zip(self._results, arrays, strict=True))
        objects = [int(array) for result, array in pairs if result.is_object]
        read = iter(self._reader.values(objects))
        components: list[Value] = []
        for result, array in pairs:
            if result.is_object:
                components.append(next(read))
            elif result.open_type is not None:
                objects.append(int(array))
                components.append(self._reader.tensor(int(array), result.open_type))
            else:
                components.append(array)
        if self._has_cells:
            self._session.reset()
        else:
            self._session.release(objects)
        return _assembled(self._output, iter(components))

    def _bind(self, values: Sequence[object]) -> list[np.ndarray]:
        """Fill the table of inputs; the arrays that must be kept until the call."""
        kept: list[np.ndarray] = []
        opened: list[tuple[np.ndarray, TensorType, str]] = []
        symbols: dict[Symbol, int] = {}
        cells: set[int] = set()
        place = 0
        try:
            for part, (name, type_, is_open) in zip(
                self._components(values), self._parts, strict=True
            ):
                if not isinstance(type_, TensorType):
                    given = from_python(part, type_)
                    self._inputs[place] = self._writer.new_object(given, type_, name, cells)
                    place += 1
                    continue
                array = checked_array(part, type_, name, symbols)
                kept.append(array)
                self._inputs[place] = address_of(array)
                place += 1
                if is_open:
                    opened.append((array, type_, name))
                    kept.append(np.array(array.shape, np.int64))
                    self._inputs[place] = address_of(kept[-1])
                    place += 1
            check_open_sizes(opened, symbols)
        except RelayError:
            self._session.reset()
            raise
        return kept

    def _components(self, values: Sequence[object]) -> Sequence[object]:
        """The components of the inputs; InputError where one should be a tuple and is none."""
        if not self._has_tuples:
            return values
        pairs = zip(values, self._types.items(), strict=True)
        return [part for value, (name, type_) in pairs for part in _parts(value, type_, name)]


class _Result:
    """A component of the result: the elements of a tensor, an object, or a tensor's object.

    Attributes:
        is_object: whether it is a value of a data type or a cell.
        open_type: of a tensor with open sizes, which the program gives as an object; else None.
    """

    def __init__(self, type_: Type) -> None:
        self.is_object = not isinstance(type_, TensorType)
        self.open_type: TensorType | None = None
        self._shape: tuple[int, ...] = ()
        self._dtype = np.dtype(np.uint64)
        if isinstance(type_, TensorType) and is_open_type(type_):
            self.open_type = type_
        elif isinstance(type_, TensorType):
            self._shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
            self._dtype = DTYPES[type_.dtype]

    def room(self) -> np.ndarray:
        """Where the program puts the elements, or the object's address."""
        return np.empty(self._shape, self._dtype)


def _word_count(*types: Type) -> int:
    """The words of the table of inputs: a tensor with open sizes has a second one for them."""
    parts = (part for type_ in types for part in component_types(type_))
    return sum(2 if is_open_type(part) else 1 for part in parts)


def _parts(value: object, type_: Type, name: str) -> Iterator[object]:
    """The components of a value; InputError where it is no tuple."""
    if not isinstance(type_, TupleType):
        yield value
        return
    if not isinstance(value, tuple | list) or len(value) != len(type_.fields):
        raise InputError(
            f"Input {name!r} must be a tuple of {len(type_.fields)} values.",
            remedy="Give a tuple with one value for each field.",
        )
    for index, (part, field) in enumerate(zip(value, type_.fields, strict=True)):
        yield from _parts(part, field, f"{name}.{index}")


def _named_parts(type_: Type, name: str) -> Iterator[tuple[str, Type, bool]]:
    """The components of an input with their names and types, and whether their sizes are open."""
    if not isinstance(type_, TupleType):
        yield name, type_, is_open_type(type_)
        return
    for index, field in enumerate(type_.fields):
        yield from _named_parts(field, f"{name}.{index}")


def _assembled(type_: Type, components: Iterator[Value]) -> Value:
    """The value of a type from its components."""
    if isinstance(type_, TupleType):
        return tuple(_assembled(field, components) for field in type_.fields)
    return next(components)
