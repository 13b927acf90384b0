"""Calls of a native program in one session."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay_tune.errors import InputError, RelayError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType, TupleType, unflatten
from relay_tune.program.kinds import component_types
from relay_tune.program.program import FirstOrderProgram
from relay_tune.runtime.aligned_memory import aligned_array
from relay_tune.runtime.call_inputs import address_of, check_open_sizes, checked_array
from relay_tune.runtime.continuation import Continuation, Link, Words
from relay_tune.runtime.direct.call import direct_call
from relay_tune.runtime.direct.callee import session_callee
from relay_tune.runtime.donation import (
    NO_STORES,
    NOTHING_GIVEN,
    Donation,
    Store,
    continued_inputs,
    in_place_inputs,
)
from relay_tune.runtime.input_check import check_array
from relay_tune.runtime.input_parts import (
    has_computed_sizes,
    named_parts,
    parts_of,
    plain_inputs,
    word_count,
)
from relay_tune.runtime.interpreter.python_values import from_python
from relay_tune.runtime.interpreter.values import Value
from relay_tune.runtime.native_session import NativeSession, SessionFunctions
from relay_tune.runtime.result_arrays import can_be_written_directly
from relay_tune.runtime.result_room import ResultRoom
from relay_tune.runtime.row_memory import RowMemory
from relay_tune.runtime.value_reader import ValueReader
from relay_tune.runtime.value_writer import ValueWriter


class ProgramCall:
    """Runs a native program in a session of its own.

    Attributes:
        lock: held by whoever uses the session.
        direct: the short way of a call, which takes the lock itself; None where there is none, as
            with large results.
    """

    def __init__(self, program: FirstOrderProgram, functions: SessionFunctions) -> None:
        entry = program.entry
        self.lock = threading.Lock()
        self._types = dict(entry.inputs)
        self._output = entry.output
        self._parts = [part for n, type_ in entry.inputs.items() for part in named_parts(type_, n)]
        self._computed_sizes = [has_computed_sizes(type_) for _, type_, _ in self._parts]
        self._object_words: list[int] = []
        self._tensor_words: list[tuple[int, np.ndarray | None]] = []
        self._number_words()
        self._has_tuples = any(isinstance(type_, TupleType) for type_ in entry.inputs.values())
        self._has_cells = program.has_cells
        self._session = NativeSession(functions)
        self._writer = ValueWriter(program, self._session)
        self._reader = ValueReader(program, self._session)
        self._inputs = (ctypes.c_void_p * word_count(*self._types.values()))()
        for word, sizes in self._tensor_words:
            if sizes is not None:
                self._inputs[word + 1] = address_of(sizes)
        self._continued = continued_inputs(entry)
        self._continuation: Continuation | None = None
        self._in_place = entry.in_place
        self._results = [ResultRoom(type_) for type_ in component_types(self._output)]
        self._plain = plain_inputs(entry)
        self._is_flat = isinstance(self._output, TupleType) and not any(
            isinstance(each, TupleType) for each in self._output.fields
        )
        self._outputs = (ctypes.c_void_p * len(self._results))()
        words, results = len(self._inputs), len(self._results)
        self.direct = None
        if not any(result.is_large for result in self._results):
            self.direct = direct_call(
                self._types,
                self._output,
                lambda: session_callee(self._session, words, results, self._has_cells),
                self.lock,
                program,
            )

    def _number_words(self) -> None:
        """Where the inputs stand in their table; a tensor of open sizes has two words."""
        word = 0
        for _, type_, is_open in self._parts:
            if not isinstance(type_, TensorType):
                self._object_words.append(word)
            else:
                sizes = np.empty(len(type_.shape), np.int64) if is_open else None
                self._tensor_words.append((word, sizes))
            word += 2 if is_open else 1

    def value(self, values: Sequence[object], threads: int) -> Value:
        """The value for inputs in order; the lock is held."""
        kept = self._bound(values)
        arrays = [result.room() for result in self._results]
        self._run(_addresses(arrays), threads)
        del kept
        return self._value(arrays)

    def value_of_donated(
        self, values: Mapping[str, object], rows: Mapping[str, int], threads: int
    ) -> Value:
        """The value for inputs by name where some may become outputs; the lock is held."""
        value = self._value_of_next(list(values.values()), rows, threads)
        if value is not None:
            return value
        donation = Donation(self._continued, values, rows)
        inputs = self._bind(list(values.values()), donation.given)
        stores = donation.stores(inputs)
        addresses = self._point_to(inputs, donation.given)
        own = in_place_inputs(self._in_place, values, inputs, addresses, rows, donation.given)
        arrays = [
            inputs[own[number]] if number in own else result.room()
            for number, result in enumerate(self._results)
        ]
        words = [0, 0, 0] * len(arrays) if stores else []
        for number, store in stores.items():
            words[3 * number : 3 * number + 2] = store.memory.address, store.memory.room
        result_addresses = [
            addresses[own[number]] if number in own else result.address(array)
            for number, (result, array) in enumerate(zip(self._results, arrays, strict=True))
        ]
        table = (ctypes.c_int64 * len(words))(*words)
        self._run(result_addresses, threads, table if stores else None)
        donation.end(stores)
        if stores and not self._in_place:
            self._continuation = self._continued_by(stores, rows, table)
        return self._value(arrays, {number: store.array for number, store in stores.items()})

    def _continued_by(
        self, stores: Mapping[int, Store], rows: Mapping[str, int], words: Words
    ) -> Continuation:
        """What the next call may take from one that put results into these stores.

        The table of inputs has their addresses afterwards.
        """
        links: list[Link] = []
        for each in self._continued:
            if each.output in stores:
                memory = stores[each.output].memory
                word, sizes = self._tensor_words[each.index]
                assert sizes is not None  # along an axis of open size
                self._inputs[word] = memory.address
                links.append(Link(each, weakref.ref(memory), sizes))
        return Continuation(links, list(self._types.values()), rows, words)

    def _value_of_next(
        self, values: Sequence[object], rows: Mapping[str, int], threads: int
    ) -> Value | None:
        """The value of a step behind the last call, which left memory; None if it is no such."""
        known = self._continuation
        if known is None or known.rows != rows or not known.are_given(values):
            return None
        inputs = self._checked(values, known)
        step = known.step(inputs)
        if step is None:
            return None
        for index in known.others:
            word, sizes = self._tensor_words[index]
            self._inputs[word] = address_of(inputs[index])
            if sizes is not None:
                sizes[:] = inputs[index].shape
        arrays = [result.room() for result in self._results]
        pairs = zip(self._results, arrays, strict=True)
        self._run([result.address(array) for result, array in pairs], threads, known.words)
        step.end()
        return self._value(arrays, step.arrays)

    def _checked(self, values: Sequence[object], known: Continuation) -> list[np.ndarray]:
        """The inputs, all of them tensors, of a step whose links are given."""
        arrays: list[Any] = list(values)
        opened: list[tuple[np.ndarray, TensorType, str]] = []
        symbols: dict[Symbol, int] = {}
        others = set(known.others)
        for index in known.checked:
            name, type_, _ = self._parts[index]
            assert isinstance(type_, TensorType)
            array = _tensor(arrays[index], type_, name, symbols, index not in others)
            arrays[index] = array
            if self._computed_sizes[index]:
                opened.append((array, type_, name))
        check_open_sizes(opened, symbols)
        return arrays

    def fill(self, values: Sequence[object], threads: int, arrays: Sequence[np.ndarray]) -> bool:
        """Run the program and have it fill arrays of the outputs' element types.

        False if it cannot, for other sizes for instance. The lock is held.
        """
        pairs = zip(self._results, arrays, strict=True)
        if not all(result.is_array and result.shape == array.shape for result, array in pairs):
            return False
        kept = self._bound(values)
        if not can_be_written_directly(arrays, kept):
            self._session.reset()  # what was made of values
            return False
        self._run(_addresses(arrays), threads)
        if self._has_cells:
            self._session.reset()
        return True

    def repeat_seconds(self, values: Sequence[object], threads: int, runs: int) -> float:
        """The seconds of one of so many runs; InputError if outputs are no arrays of known sizes.

        Outputs begin on cache lines. The lock is held.
        """
        if not all(result.is_array for result in self._results):
            raise InputError("Only programs whose outputs are tensors of fixed sizes are repeated.")
        kept = self._bound(values)
        arrays = [
            aligned_array(room.shape, room.dtype) for room in map(ResultRoom.room, self._results)
        ]
        self._run(_addresses(arrays), threads)
        nanoseconds = self._session.repeat(self._inputs, self._outputs, runs)
        del kept
        return nanoseconds / runs / 1e9

    def _run(self, addresses: Sequence[int], threads: int, stores: Words | None = None) -> None:
        """Run the program, which writes its outputs to these addresses."""
        self._outputs[:] = [*addresses]
        self._session.call(self._inputs, self._outputs, threads, stores)

    def _value(
        self, arrays: Sequence[np.ndarray], stores: Mapping[int, np.ndarray] = NO_STORES
    ) -> Value:
        """The value of a run whose outputs, or the addresses of whose objects, are in arrays.

        Outputs that have a store are those arrays.
        """
        if self._plain is not None and not stores and not self._has_cells:
            return tuple(arrays) if isinstance(self._output, TupleType) else arrays[0]
        pairs = list(zip(self._results, arrays, strict=True))
        objects = [int(array) for result, array in pairs if result.is_object]
        read = iter(self._reader.values(objects))
        components: list[Value] = []
        for number, (result, array) in enumerate(pairs):
            if number in stores:
                components.append(stores[number])
            elif result.is_object:
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
        if self._is_flat:
            return tuple(components)
        return unflatten(self._output, iter(components))

    def _bound(self, values: Sequence[object]) -> list[np.ndarray]:
        """Fill the table of inputs; the arrays that must be kept until the call."""
        arrays = self._bind(values)
        self._point_to(arrays)
        return arrays

    def _bind(
        self, values: Sequence[object], given: Mapping[int, RowMemory] = NOTHING_GIVEN
    ) -> list[np.ndarray]:
        """The tensors among the inputs; objects are entered in the table of inputs.

        Those by whose numbers memory is given lie in it, and need not be contiguous.
        """
        self._continuation = None  # its table is written over
        if self._plain is not None:
            typed = enumerate(zip(values, self._plain, strict=True))
            return [
                _tensor(value, type_, name, {}, n in given) for n, (value, (name, type_)) in typed
            ]
        arrays: list[np.ndarray] = []
        opened: list[tuple[np.ndarray, TensorType, str]] = []
        symbols: dict[Symbol, int] = {}
        cells: set[int] = set()
        words = iter(self._object_words)
        try:
            for part, (name, type_, _), is_computed in zip(
                self._components(values), self._parts, self._computed_sizes, strict=True
            ):
                if type(type_) is not TensorType:
                    value = from_python(part, type_)
                    self._inputs[next(words)] = self._writer.new_object(value, type_, name, cells)
                    continue
                arrays.append(_tensor(part, type_, name, symbols, len(arrays) in given))
                if is_computed:
                    opened.append((arrays[-1], type_, name))
            check_open_sizes(opened, symbols)
        except RelayError:
            self._session.reset()
            raise
        return arrays

    def _point_to(
        self, arrays: Sequence[np.ndarray], given: Mapping[int, RowMemory] = NOTHING_GIVEN
    ) -> list[int]:
        """Enter the addresses, which are given back, and sizes of the tensors among the inputs."""
        addresses = [
            given[number].address if number in given else address_of(array)
            for number, array in enumerate(arrays)
        ]
        for array, address, (word, sizes) in zip(
            arrays, addresses, self._tensor_words, strict=True
        ):
            self._inputs[word] = address
            if sizes is not None:
                sizes[:] = array.shape
        return addresses

    def _components(self, values: Sequence[object]) -> Sequence[object]:
        """The components of the inputs; InputError where one should be a tuple and is none."""
        if not self._has_tuples:
            return values
        pairs = zip(values, self._types.items(), strict=True)
        return [part for value, (name, type_) in pairs for part in parts_of(value, type_, name)]


def _tensor(
    value: object, type_: TensorType, name: str, symbols: dict[Symbol, int], is_given: bool
) -> np.ndarray:
    """A tensor among the inputs; one whose memory is given need not be contiguous."""
    if is_given and isinstance(value, np.ndarray):
        check_array(value, type_, name, symbols)
        return value
    return checked_array(value, type_, name, symbols)


def _addresses(arrays: Sequence[np.ndarray]) -> list[int]:
    return [address_of(array) for array in arrays]
