"""A network whose code is for all sizes of its inputs."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from struct import Struct

import numpy as np

from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.first_order.kinds import component_types, is_open_type
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_SHAPE
from relay_tune.ir.dim import Polynomial, Symbol
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.runtime.benchmark import measure
from relay_tune.runtime.call_inputs import address_of, check_open_sizes
from relay_tune.runtime.direct.call import direct_call
from relay_tune.runtime.direct.callee import session_callee
from relay_tune.runtime.donation import NO_STORES, Donation, Store, continued_inputs
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.native_session import NativeSession, SessionFunctions, load_functions
from relay_tune.runtime.profile import ProfileReport
from relay_tune.runtime.program_profile import program_profile
from relay_tune.runtime.program_trace import program_trace

_Sizes = ctypes.Array[ctypes.c_int64]


class OpenNetwork:
    """Runs a program of tensors; there is a session for each number of threads."""

    def __init__(self, compiled: CompiledFunctions) -> None:
        self.compiled = compiled
        self._continued = continued_inputs(compiled.program.entries["main"])
        self._functions: SessionFunctions | None = None
        self._sessions: dict[int, _Session] = {}
        self._lock = threading.Lock()

    def run(self, inputs: Sequence[np.ndarray], threads: int) -> list[np.ndarray]:
        """The outputs in order; the inputs were checked but for arithmetic of sizes."""
        with self._lock:
            return self._session(threads).run(inputs)

    def run_donated(
        self,
        values: Mapping[str, object],
        rows: Mapping[str, int],
        threads: int,
        bind: Callable[[Mapping[str, object]], list[np.ndarray]],
    ) -> list[np.ndarray]:
        """The outputs where inputs, with the rows that are asked for, may become outputs.

        `bind` gives the arrays of inputs in order.
        """
        with self._lock:
            donation = Donation(self._continued, values, rows)
            arrays = bind(donation.values)
            stores = donation.stores(arrays)
            outputs = self._session(threads).run(arrays, stores)
            donation.end(stores)
            return outputs

    def run_directly(self, inputs: Sequence[object], threads: int) -> tuple[np.ndarray, ...] | None:
        """The outputs for inputs that fit exactly; None, and nothing was run, for others.

        So it is before the first run with so many threads.
        """
        session = self._sessions.get(threads)
        if session is None or session.direct is None:
            return None
        outputs: tuple[np.ndarray, ...] | None = session.direct(inputs, threads)
        return outputs

    def profile(
        self, inputs: Sequence[np.ndarray], threads: int, runs: int, limits: MachineLimits
    ) -> ProfileReport:
        """The time of each kernel in so many runs, traced, and that of a run without a trace."""
        trace = program_trace(self.compiled, inputs, threads, runs)
        whole = measure(lambda: self.run(inputs, threads), repeat=runs, warmup=1).median
        return program_profile(self.compiled, trace, whole, limits)

    def _session(self, threads: int) -> _Session:
        session = self._sessions.get(threads)
        if session is None:
            session = self._sessions[threads] = self._new_session(threads)
        return session

    def _new_session(self, threads: int) -> _Session:
        if self._functions is None:
            self._functions = load_functions(self.compiled)
        entry = self.compiled.program.entries["main"]
        has_cells = self.compiled.program.has_cells
        return _Session(self._functions, threads, entry.inputs, entry.output, self._lock, has_cells)


class _Session:
    """Tables of addresses that are filled for each call.

    A tensor with open sizes takes two places among the inputs: its elements and its sizes. For an
    output with open sizes the table says where the program puts the address of the object.
    """

    def __init__(
        self,
        functions: SessionFunctions,
        threads: int,
        inputs: Mapping[str, Type],
        output: Type,
        lock: threading.Lock,
        resets: bool,
    ) -> None:
        self._session = NativeSession(functions, threads)
        self._types = {name: t for name, t in inputs.items() if isinstance(t, TensorType)}
        dims = [dim for type_ in self._types.values() for dim in type_.shape]
        self._has_arithmetic = any(isinstance(dim, Polynomial) for dim in dims)
        self._sizes = [_room_for_sizes(type_) for type_ in self._types.values()]
        self._inputs = (ctypes.c_void_p * sum(2 if s else 1 for s in self._sizes))()
        self._places = list(itertools.accumulate((2 if s else 1 for s in self._sizes), initial=0))
        for place, sizes in zip(self._places, self._sizes, strict=False):
            if sizes is not None:
                self._inputs[place + 1] = ctypes.addressof(sizes)
        types = [t for t in component_types(output) if isinstance(t, TensorType)]
        self._objects = (ctypes.c_uint64 * len(types))()
        start = ctypes.addressof(self._objects)
        self._table = (ctypes.c_void_p * len(types))(*(start + 8 * n for n in range(len(types))))
        self._outputs = [_Output(type_) for type_ in types]
        self.direct = direct_call(
            inputs,
            TupleType(tuple(types)),
            lambda: session_callee(self._session, len(self._inputs), len(types), resets),
            lock,
        )

    def run(
        self, inputs: Sequence[np.ndarray], stores: Mapping[int, Store] = NO_STORES
    ) -> list[np.ndarray]:
        """The outputs in order, some of them in memory of the caller."""
        self._check_arithmetic(inputs)
        for array, place, sizes in zip(inputs, self._places, self._sizes, strict=False):
            self._inputs[place] = address_of(array)
            if sizes is not None:
                sizes[:] = list(array.shape)
        rooms = [output.room() for output in self._outputs]
        for number, room in enumerate(rooms):
            if room is not None:
                self._table[number] = address_of(room)
        words = [0, 0, 0] * len(rooms) if stores else []
        for number, store in stores.items():
            words[3 * number : 3 * number + 2] = store.memory.address, store.memory.room
        self._session.call(self._inputs, self._table, words)
        found: list[np.ndarray] = []
        for number, (output, room) in enumerate(zip(self._outputs, rooms, strict=True)):
            if number in stores:
                found.append(stores[number].array)
            elif room is not None:
                found.append(room)
            else:
                address = self._objects[number]
                found.append(output.copy(address))
                self._session.release((address,))
        return found

    def _check_arithmetic(self, inputs: Sequence[np.ndarray]) -> None:
        """Sizes such as 2 * n + 1 must fit the others."""
        if self._has_arithmetic:
            named = zip(inputs, self._types.values(), self._types, strict=True)
            symbols: dict[Symbol, int] = {}
            opened = [item for item in named if is_open_type(item[1])]
            check_open_sizes(opened, symbols)
            check_open_sizes(opened, symbols)


class _Output:
    """An output: an array that the program fills, or, with open sizes, an object that it gives."""

    def __init__(self, type_: TensorType) -> None:
        self._dtype = DTYPES[type_.dtype]
        self._is_open = is_open_type(type_)
        self._shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
        self._sizes = Struct(f"<{len(type_.shape)}q")

    def room(self) -> np.ndarray | None:
        """An array for the elements; None if the program gives an object."""
        return None if self._is_open else np.empty(self._shape, self._dtype)

    def copy(self, address: int) -> np.ndarray:
        """The elements of an object."""
        shape = self._sizes.unpack(ctypes.string_at(address + TENSOR_SHAPE, self._sizes.size))
        array = np.empty(shape, self._dtype)
        ctypes.memmove(address_of(array), address + TENSOR_DATA, array.nbytes)
        return array


def _room_for_sizes(type_: TensorType) -> _Sizes | None:
    return (ctypes.c_int64 * len(type_.shape))() if is_open_type(type_) else None
